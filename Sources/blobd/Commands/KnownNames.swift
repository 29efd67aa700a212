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
        var names: Set<String> = []
        var next: String?
        repeat {
            guard let page = try? connection.call(.categories(after: next)) else { return nil }
            names.formUnion(
                page.categories.filter { $0.app == nil || $0.app == app }.map(\.name))
            next = page.next
        } while next != nil
        return names.sorted()
    }

    /// What may be answered to a notification: its own actions or its category's, and the two of every one.
    static func actions(of id: String, _ connection: inout BlobConnection) -> [String]? {
        guard let record = try? connection.call(.stat(id)) else { return nil }
        var actions = record.actions
        if actions == nil, let category = record.category {
            // One of the app is preferred to the one of all apps, as the daemon does.
            let own = record.app.flatMap { try? connection.call(.category(category, app: $0)) }
            actions = (own ?? (try? connection.call(.category(category))))?.actions
        }
        return ["default", "dismiss"] + (actions ?? []).map(\.identifier)
    }
}
