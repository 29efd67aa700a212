public import BlobStore
import TestSupport

/// What a store of notifications should be, kept beside one: the operations are done to both, and
/// each outcome is compared with what the model says.
///
/// It knows nothing of how the store keeps things. A notification is a value, a deletion a number
/// in a list.
public struct FeedModel {
    /// A notification as it should be.
    struct Item: Equatable {
        var owner: String?
        var app: String?
        var title: String?
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

        /// Whether a filter's reader has it.
        func matches(_ filter: RecordFilter) -> Bool {
            (filter.app == nil || filter.app == app)
                && (filter.isRead == nil || filter.isRead == isRead)
                && (filter.actionState == nil || filter.actionState == state)
                && (filter.group == nil || filter.group == group)
        }
    }

    /// What has a place in an owner's feed: an id, for each app that has it or had it.
    struct Name: Hashable {
        var id: String
        var app: String?
    }

    /// The latest change of a name that an owner has or had.
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
    /// By owner, by name.
    var latest: [String: [Name: Latest]] = [:]
    /// The highest revision of a deletion that is no longer remembered.
    var horizon: UInt64 = 0
    /// By owner: the mark of a deleted account, and until when it is kept.
    var marks: [String: (revision: UInt64, end: Timestamp)] = [:]
    var revision: UInt64 = 0
    /// The model's time.
    public internal(set) var now = Timestamp(milliseconds: 1_800_000_000_000)
    var generator: SeededGenerator
    /// Operations so far.
    public internal(set) var operationCount = 0

    /// An empty model for an empty store.
    public init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// One of two apps, or none.
    mutating func anyApp() -> String? { generator.chance(50) ? "app-\(generator.below(2))" : nil }

    static func owner(_ number: Int) -> String { "owner-\(number)" }

    /// Notifications of an owner that have not been removed, expired or not.
    func ids(of owner: String) -> Set<String> {
        Set((latest[owner] ?? [:]).filter { $0.value.gone == nil }.keys.map(\.id))
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
        latest[owner, default: [:]][Name(id: id, app: item.app)] = Latest(
            revision: item.revision, device: item.device)
    }

    /// An item leaves its owner, or one of the owner's apps.
    mutating func leave(
        _ id: String, _ item: Item, at revision: UInt64, _ kind: FeedChange.Kind,
        device: String?
    ) {
        guard let owner = item.owner else { return }
        latest[owner, default: [:]][Name(id: id, app: item.app)] = Latest(
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
