/// A change of many notifications, done in steps that are one bounded transaction each
/// (``BlobStore/advance(_:asOf:)``). What was published after its first step is left alone.
public struct LongChange: Sendable {
    enum Kind: Sendable {
        case patchGroup(owner: String, group: String, app: String?, NotificationPatch)
        case deleteGroup(owner: String, group: String, app: String?, device: String?)
        case deleteOwner(String)
    }
    let kind: Kind
    /// The revision at its first step; nil before that.
    var bound: UInt64?
    /// The sequence of the last one that was looked at.
    var position: UInt64 = 0
    /// Notifications that were looked at.
    public internal(set) var matched = 0
    /// Notifications that were changed or removed.
    public internal(set) var changed = 0

    /// The same patch for all of an owner's notifications of one group, or for those of them that
    /// are one app's. Its id and its condition are ignored; a category that it names must be the
    /// app's or, without an app, one of all apps.
    public static func patchGroup(
        owner: String, group: String, app: String? = nil, _ patch: NotificationPatch
    ) -> LongChange {
        LongChange(kind: .patchGroup(owner: owner, group: group, app: app, patch))
    }

    /// The removal of all of an owner's notifications of one group, or of those of them that are one
    /// app's. Each is told in the feed.
    ///
    /// - Parameters:
    ///   - owner: whose notifications.
    ///   - group: the group's name.
    ///   - app: only those of this app; nil: those of all apps.
    ///   - device: the device it comes from, 1…64 bytes.
    public static func deleteGroup(
        owner: String, group: String, app: String? = nil, device: String? = nil
    ) -> LongChange {
        LongChange(kind: .deleteGroup(owner: owner, group: group, app: app, device: device))
    }

    /// The end of an account: all of its notifications, and what the store remembers of those it
    /// had.
    public static func deleteOwner(_ owner: String) -> LongChange {
        LongChange(kind: .deleteOwner(owner))
    }

    private init(kind: Kind) { self.kind = kind }
}
