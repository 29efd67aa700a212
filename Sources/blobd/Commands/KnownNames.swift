import BlobClient
import BlobProtocol

/// The names that a daemon would have taken, for a refusal of one that it does not know.
enum KnownNames {
    /// The most names that are listed.
    static let countMax = 20

    /// The error, or where it is of this code, its words and the names that the daemon knows.
    ///
    /// - Parameter ask: asks the daemon for them; nil: it does not say.
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

    /// The categories of an app and of all apps.
    static func categories(for app: String?, _ connection: inout BlobConnection) -> [String]? {
        guard let all = try? connection.categories() else { return nil }
        let names = all.filter { $0.app == nil || $0.app == app }.map(\.name)
        return Set(names).sorted()
    }

    /// What may be answered to a notification: its own actions or its category's, and the two of every one.
    static func actions(of id: String, _ connection: inout BlobConnection) -> [String]? {
        guard let record = try? connection.stat(id) else { return nil }
        var actions = record.actions
        if actions == nil, let category = record.category {
            // One of the app is preferred to the one of all apps, as the daemon does.
            let own = record.app.flatMap { try? connection.category(category, app: $0) }
            actions = (own ?? (try? connection.category(category)))?.actions
        }
        return ["default", "dismiss"] + (actions ?? []).map(\.identifier)
    }
}
