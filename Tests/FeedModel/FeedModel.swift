public import BlobStore

/// What a store of notifications should be, kept beside one: the operations are done to both, and
/// each outcome is compared with what the model says.
///
/// It knows nothing of how the store keeps things. A notification is a value, a deletion a number
/// in a list.
public struct FeedModel {
    /// A notification as it should be.
    struct Item: Equatable {
        var owner: String?
        var message: String?
        var group: String?
        var isRead = false
        var state = ActionState.none
        var device: String?
        var responseKeys: [String?] = []
        var createdAt: Timestamp
        var expiresAt: Timestamp
        var revision: UInt64
        var sequence: UInt64
        /// The digest of the part `payload`.
        var digest: Digest?
    }

    /// The latest change of an id that an owner has or had.
    struct Latest: Equatable {
        var revision: UInt64
        /// Nil: it is there.
        var gone: FeedChange.Kind?
        var device: String?
        /// Of one that is gone: until when that is remembered.
        var end: Timestamp?
    }

    /// How many owners there are, and ids for each.
    public static let ownerCount = 50
    static let idCount = 60
    /// How long deletions are remembered, in seconds of the model's time.
    public static let retentionSeconds: Int64 = 2_000

    var items: [String: Item] = [:]
    /// By owner, by id.
    var latest: [String: [String: Latest]] = [:]
    /// The highest revision of a deletion that is no longer remembered.
    var horizon: UInt64 = 0
    /// By owner: the mark of a deleted account, and until when it is kept.
    var marks: [String: (revision: UInt64, end: Timestamp)] = [:]
    var revision: UInt64 = 0
    /// The model's time.
    public internal(set) var now = Timestamp(milliseconds: 1_800_000_000_000)
    var generator: FeedNoise
    /// Called with the revision of changes that are on disk.
    var committed: (@Sendable (UInt64) -> Void)?
    /// Operations so far.
    public internal(set) var operationCount = 0

    /// An empty model for an empty store.
    public init(seed: UInt64) { generator = FeedNoise(seed: seed) }

    static func owner(_ number: Int) -> String { "owner-\(number)" }

    /// Notifications of an owner that have not been removed, expired or not.
    func ids(of owner: String) -> Set<String> {
        Set((latest[owner] ?? [:]).filter { $0.value.gone == nil }.keys)
    }

    func live(_ id: String) -> Item? {
        guard let item = items[id], item.expiresAt > now else { return nil }
        return item
    }

    /// The number of the next change.
    mutating func next() -> UInt64 {
        revision += 1
        return revision
    }

    /// An item comes to its owner, or changes.
    mutating func keep(_ id: String, _ item: Item) {
        items[id] = item
        guard let owner = item.owner else { return }
        latest[owner, default: [:]][id] = Latest(revision: item.revision, device: item.device)
    }

    /// An item leaves its owner.
    mutating func leave(
        _ id: String, _ owner: String?, at revision: UInt64, _ kind: FeedChange.Kind,
        device: String?
    ) {
        guard let owner else { return }
        latest[owner, default: [:]][id] = Latest(
            revision: revision, gone: kind, device: device,
            end: now.adding(seconds: Self.retentionSeconds))
    }

    /// The newest place at which something of this owner's may have been forgotten.
    func forgotten(_ owner: String) -> UInt64 { max(horizon, marks[owner]?.revision ?? 0) }
}

/// What the store does that the model does not expect, in words.
public struct FeedModelError: Error, CustomStringConvertible {
    /// What it did, and what was expected.
    public let description: String
    init(_ description: String) { self.description = description }
}

func expect(
    _ condition: Bool, _ what: @autoclosure () -> String
) throws {
    if !condition { throw FeedModelError(what()) }
}

/// Random numbers that a seed repeats (SplitMix64).
public struct FeedNoise: RandomNumberGenerator {
    private var state: UInt64
    /// The numbers of a seed.
    public init(seed: UInt64) { state = seed }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}
