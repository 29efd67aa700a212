internal import Bytes

/// Which of an owner's notifications a history or a feed is of. What is nil is not asked for.
///
/// A feed with a filter tells what changed and does not match as `left`, so that a copy of what matches stays
/// right. A copy of what was deleted needs an app for that: what moved to another app is deleted there, and then has left.
/// Nothing tells when a deletion is forgotten. Cursors do not carry the filter: another one begins with the history.
public struct RecordFilter: Sendable, Hashable {
    /// Whether notifications are there.
    public enum Status: String, Sendable, Hashable, CaseIterable {
        /// They are there.
        case active
        /// They were deleted or have expired, and are remembered. Only id, app and device are known of them, and
        /// nothing but an app is asked for.
        case deleted
    }

    /// Those that are there, or those that are not any more.
    public var status = Status.active
    /// Only those of this app. A feed tells of no other app's notifications, not even what left.
    public var app: String?
    /// Only read ones, or only unread ones.
    public var isRead: Bool?
    /// Only those with this state.
    public var actionState: ActionState?
    /// Only those of this group.
    public var group: String?
    /// Only those for this platform: they name it, or none.
    public var platform: String?
    /// Only those for this host: they name it, or none.
    public var targetHost: String?

    /// All of them.
    public init(
        app: String? = nil, isRead: Bool? = nil, actionState: ActionState? = nil,
        group: String? = nil, platform: String? = nil, targetHost: String? = nil
    ) {
        self.app = app
        self.isRead = isRead
        self.actionState = actionState
        self.group = group
        self.platform = platform
        self.targetHost = targetHost
    }

    /// Whether that is one of those.
    public func matches(_ record: Record) -> Bool {
        guard status == .active else { return false }
        if app != nil, !isOfApp(record.app) { return false }
        guard asksForDetails else { return true }
        let details = record.details
        return (isRead ?? details.isRead) == details.isRead
            && (actionState ?? details.actionState) == details.actionState
            && (group == nil || group.isSame(as: details.group))
            && isTarget(details)
    }

    /// Whether that is for the platform and the host. One that names none is for all.
    private func isTarget(_ details: NotificationDetails) -> Bool {
        if let platform, !details.platforms.isEmpty,
            !details.platforms.contains(where: { $0.isSame(as: platform) })
        {
            return false
        }
        return targetHost == nil || details.targetHost == nil
            || targetHost.isSame(as: details.targetHost)
    }

    /// Whether it asks for more than an app.
    public var asksForDetails: Bool {
        isRead != nil || actionState != nil || group != nil || platform != nil || targetHost != nil
    }

    /// Whether something that is not there any more is one of those.
    func matches(_ tombstone: SequenceEntry) -> Bool {
        status == .deleted && tombstone.isOfNotification && !asksForDetails
            && isOfApp(tombstone.app)
    }

    func isOfApp(_ app: String?) -> Bool { self.app == nil || self.app.isSame(as: app) }
}
