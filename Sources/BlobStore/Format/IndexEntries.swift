// Declarations; package A makes a file of each.

/// Keys of the index (LMDB table `expiry`). `docs/FORMAT.md` draws them.
enum IndexKeys {
    /// The first byte of owners' keys; times begin with 00.
    static let ownersPrefix: UInt8 = 1
    /// The first byte of categories' keys.
    static let categoriesPrefix: UInt8 = 2
    static func sequence(_ owner: String, _ revision: UInt64) -> [UInt8] { [] }
    static func group(_ owner: String, _ group: String, _ sequence: UInt64) -> [UInt8] { [] }
    static func finder(_ owner: String, id: String) -> [UInt8] { [] }
    static func mark(_ owner: String) -> [UInt8] { [] }
    static func category(_ name: String) -> [UInt8] { [] }
    static func notificationEnd(_ end: Timestamp, _ id: String) -> [UInt8] { Keys.expiry(end, id) }
    static func tombstoneEnd(_ end: Timestamp, _ owner: String, _ revision: UInt64) -> [UInt8] {
        []
    }
    static func holdEnd(_ end: Timestamp, _ digest: Digest) -> [UInt8] { [] }
    static func markEnd(_ end: Timestamp, _ owner: String) -> [UInt8] { [] }
}

/// A notification's place in its owner's history, in the feed, or both; or a tombstone.
struct SequenceEntry: Equatable {
    struct Places: OptionSet, Equatable {
        let rawValue: UInt8
        static let history = Places(rawValue: 1)
        static let feed = Places(rawValue: 2)
    }
    enum Kind: UInt8 {
        case live = 0
        case deleted = 1
        case expired = 2
    }
    var places: Places
    var kind: Kind
    var id: String
    /// Of a tombstone: who removed it.
    var device: String?
    /// Of a tombstone: when its retention ends.
    var end: Timestamp?
}

/// What ends at a time.
enum TimeEntry: Equatable {
    case notification(Timestamp, id: String)
    case tombstone(Timestamp, owner: String, revision: UInt64)
    case hold(Timestamp, Digest)
    case mark(Timestamp, owner: String)
}
