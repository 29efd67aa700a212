import BlobClient

/// Runs a call that is about one notification. An error that there is none says which.
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
