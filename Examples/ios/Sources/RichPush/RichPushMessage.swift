public import Foundation

/// What a push says of its notification: the members of blobd's envelope.
public struct RichPushMessage: Sendable, Hashable {
    /// The notification's id.
    public let id: String
    /// A signed link to its picture, if the daemon has a `--link-base`.
    public let url: URL?
    /// The publisher's word for what it is, such as `img`.
    public let type: String?
    /// The title and the text of a silent push. An alert has them in `aps`.
    public let title, message: String?

    /// Nil for a push of somebody else.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let id = userInfo["richId"] as? String else { return nil }
        self.id = id
        url = (userInfo["richUrl"] as? String).flatMap { URL(string: $0) }
        type = userInfo["richType"] as? String
        title = userInfo["richTitle"] as? String
        message = userInfo["richMessage"] as? String
    }
}
