import ArgumentParser
import BlobClient

extension ExitStatus {
    /// Writes an error to standard error, or requested help to standard output. Returns the exit code.
    static func report(_ error: any Error) -> Int32 {
        switch error {
        case let failure as CommandFailure:
            StandardError.write("blobd: \(failure.message)\n")
            return failure.status.rawValue
        case let error as ClientError:
            StandardError.write("blobd: \(error)\n")
            if case .noDaemon(let path, let code) = error {
                StandardError.write(SocketAdvice.text(path, errno: code) + "\n")
            }
            return ExitStatus(error).rawValue
        default:
            return reportParser(error)
        }
    }

    /// Reports what ArgumentParser throws: help and the version (both successes), bad usage, exit codes.
    private static func reportParser(_ error: any Error) -> Int32 {
        let code = Blobd.exitCode(for: error)
        let text = Blobd.fullMessage(for: error)
        if code.isSuccess {
            do {
                if !text.isEmpty { try StandardOutput.write(text + "\n") }
            } catch {
                return refused.rawValue
            }
            return done.rawValue
        }
        if !text.isEmpty {
            // The prefix of all other errors.
            let prefix = "Error: "
            let words = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
            StandardError.write("blobd: \(words)\n")
        }
        return code == .validationFailure ? badUsage.rawValue : code.rawValue
    }
}
