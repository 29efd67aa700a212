public import Foundation

/// What a push says of its notification: the members of blobd's envelope, or of your backend's withdrawal.
public struct RichPushMessage: Sendable, Hashable {
    /// The notification's id.
    public let id: String
    /// A signed link to its picture, if the daemon has a `--link-base`.
    public let url: URL?
    /// The publisher's word for what it is, such as `img`.
    public let type: String?
    /// `activated` or `dismissed`: the user has answered on another device, and the notification is to be removed.
    public let state: String?

    /// Nil for a push of somebody else.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let id = userInfo["richId"] as? String else { return nil }
        self.id = id
        url = (userInfo["richUrl"] as? String).flatMap { URL(string: $0) }
        type = userInfo["richType"] as? String
        state = userInfo["richState"] as? String
    }
}
