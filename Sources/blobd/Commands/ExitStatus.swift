import ArgumentParser
import BlobClient

/// The exit codes of every command.
enum ExitStatus: Int32 {
    case done = 0
    /// The daemon refused, or its answer could not be used.
    case refused = 1
    case badUsage = 2
    case notFound = 3
    case noDaemon = 4

    /// The code that says what `error` is about.
    init(_ error: ClientError) {
        switch error {
        case .notFound, .expired: self = .notFound
        case .noDaemon: self = .noDaemon
        case .invalid, .badSocketPath: self = .badUsage
        default: self = .refused
        }
    }

    /// Writes what went wrong to standard error (and help that was asked for to standard output),
    /// and returns the exit code that goes with it.
    static func report(_ error: any Error) -> Int32 {
        switch error {
        case let failure as CommandFailure:
            StandardError.write("blobd: \(failure.message)\n")
            return failure.status.rawValue
        case let error as ClientError:
            StandardError.write("blobd: \(error)\n")
            if case .noDaemon(let path, _) = error {
                StandardError.write(
                    "Is it running? Start one: blobd serve --data DIR --socket \(path)\n")
            }
            return ExitStatus(error).rawValue
        default:
            return reportParser(error)
        }
    }

    /// What ArgumentParser throws: help and the version, which are no failures, bad usage, and exit
    /// codes.
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
        if !text.isEmpty { StandardError.write(text + "\n") }
        return code == .validationFailure ? badUsage.rawValue : code.rawValue
    }
}

/// A failure of a command that is not the daemon's answer.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}
