import BlobClient

enum ExitStatus: Int32 {
    case done = 0
    /// The daemon refused, or its answer could not be used.
    case refused = 1
    case badUsage = 2
    case notFound = 3
    case noDaemon = 4
    /// What should be checked could not be.
    case notChecked = 5

    init(_ error: ClientError) {
        switch error {
        case .notFound, .expired: self = .notFound
        case .noDaemon: self = .noDaemon
        case .invalid, .badSocketPath: self = .badUsage
        default: self = .refused
        }
    }
}

/// A failure of a command other than a refusal by the daemon.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}

/// Runs a call about one notification. If it does not exist, the error names it.
func naming<Result>(
    _ id: String, part: String? = nil, _ call: () throws -> Result
) throws -> Result {
    do {
        return try call()
    } catch let error as ClientError {
        let name =
            "notification '\(HumanText.line(id))'"
            + (part.map { " or its part '\(HumanText.line($0))'" } ?? "")
        switch error {
        case .notFound(let problem):
            throw CommandFailure(
                .notFound, "\(name) was not found (\(problem.status) \(problem.code))")
        case .expired(let problem):
            throw CommandFailure(
                .notFound,
                "\(name): \(problem.detail ?? problem.title) (\(problem.status) \(problem.code))")
        default: throw error
        }
    }
}
