import BlobClient
import BlobProtocol

/// The names that a daemon knows, for the error about an unknown one.
enum KnownNames {
    static let countMax = 20

    /// Adds the names that the daemon knows to an error of this code.
    static func explain(
        _ error: ClientError, _ code: ErrorCode, _ ask: () -> [String]?
    ) -> any Error {
        guard case .refused(let problem) = error, problem.code == code.rawValue, let names = ask()
        else { return error }
        let words = names.prefix(countMax).map { HumanText.line($0) }.joined(separator: ", ")
        let more = names.count > countMax ? " and \(names.count - countMax) more" : ""
        return CommandFailure(
            .refused,
            "\(problem.description); "
                + (names.isEmpty ? "there are none" : "known are \(words)\(more)"))
    }

    static func categories(for app: String?, _ connection: inout BlobConnection) -> [String]? {
        var names: Set<String> = []
        do {
            try connection.readPages({ .categories(after: $0) }) { page, _ in
                names.formUnion(
                    page.categories.filter { $0.app == nil || $0.app == app }.map(\.name))
                return true
            }
        } catch {
            return nil
        }
        return names.sorted()
    }

    /// The actions of a response to a notification: its own or its category's, and the two default ones.
    static func actions(of id: String, _ connection: inout BlobConnection) -> [String]? {
        guard let record = try? connection.call(.stat(id)) else { return nil }
        var actions = record.actions
        if actions == nil, let category = record.category {
            // The app's own category takes precedence, as in the daemon.
            let own = record.app.flatMap { try? connection.call(.category(category, app: $0)) }
            actions = (own ?? (try? connection.call(.category(category))))?.actions
        }
        return ["default", "dismiss"] + (actions ?? []).map(\.identifier)
    }
}
