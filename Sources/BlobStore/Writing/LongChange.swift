/// A change of many notifications, done in steps that are one bounded transaction each
/// (``BlobStore/advance(_:asOf:)``). What was published after its first step is left alone.
public struct LongChange: Sendable {
    enum Kind: Sendable {
        case patchGroup(owner: String, group: String, NotificationPatch)
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

    /// The same patch for all of an owner's notifications of one group. Its id and its condition are
    /// not heeded.
    public static func patchGroup(
        owner: String, group: String, _ patch: NotificationPatch
    ) -> LongChange {
        LongChange(kind: .patchGroup(owner: owner, group: group, patch))
    }

    /// The end of an account: all of its notifications, and what the store remembers of those it
    /// had.
    public static func deleteOwner(_ owner: String) -> LongChange {
        LongChange(kind: .deleteOwner(owner))
    }

    private init(kind: Kind) { self.kind = kind }
}
