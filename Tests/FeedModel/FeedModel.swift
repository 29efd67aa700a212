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
        var message: String?
        var richType: String?
        /// What a publisher may say. What the store sets of them is beside them.
        var details = NotificationDetails()
        var device: String?
        /// Each begins with its key and device, which make it the same when it comes again.
        var responses: [String] = []
        /// The number of each part's content.
        var parts: [String: Int] = [:]
        var createdAt: Timestamp
        var expiresAt: Timestamp
        var revision: UInt64 = 0
        var sequence: UInt64 = 0

        var app: String? { details.app }

        /// Whether it would show nothing.
        var isEmpty: Bool { parts.isEmpty && message == nil && details.title == nil }

        var byteCount: Int {
            parts.values.reduce(0) { $0 + FeedModel.byteCount(ofContent: $1) }
        }

        /// Whether a filter's reader has it.
        func matches(_ filter: RecordFilter) -> Bool {
            let details = details
            func isOne<Value: Equatable>(_ wanted: Value?, _ found: Value?) -> Bool {
                wanted == nil || wanted == found
            }
            return isOne(filter.app, details.app) && isOne(filter.isRead, details.isRead)
                && isOne(filter.actionState, details.actionState)
                && isOne(filter.group, details.group)
                && (details.targetHost == nil || isOne(filter.targetHost, details.targetHost))
                && (details.platforms.isEmpty
                    || filter.platform.map { details.platforms.contains($0) } != false)
        }
    }

    /// What has a place in an owner's feed: an id, for each app that has it or had it. And what a category is
    /// called.
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

    /// How many contents payloads have: some are so long that the log has their places alone.
    static let contentCount = 20

    static func byteCount(ofContent number: Int) -> Int {
        number < 17 ? 1 + number * number * 7 : number * 3_300
    }

    static func bytes(ofContent number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(number), count: byteCount(ofContent: number))
    }

    /// How long deletions are remembered, in seconds of the model's time.
    public static let retentionSeconds: Int64 = 2_000

    private(set) var items: [String: Item] = [:]
    /// How many parts have each content, those of expired notifications included.
    private(set) var references = [Int](repeating: 0, count: contentCount)
    private(set) var usage: [String: (notifications: Int, byteCount: Int)] = [:]
    /// Until when contents are kept without a reference.
    var held: [Int: Timestamp] = [:]
    /// What the store says of the contents that it was given.
    var digests: [Int: Digest] = [:]
    /// Nobody's notification names one, so that no owner is told of them.
    var categories: [Name: (actions: [NotificationAction], revision: UInt64)] = [:]
    /// Drawn now and then, where there are any.
    var quotas = Quotas()
    let hasQuotas: Bool
    /// By owner, by name.
    var latest: [String: [Name: Latest]] = [:]
    /// The highest revision of a deletion that is no longer remembered.
    var horizon: UInt64 = 0
    /// By owner: the mark of a deleted account, and until when it is kept.
    var marks: [String: (revision: UInt64, end: Timestamp)] = [:]
    /// The last one that the store gave.
    package var revision: UInt64 = 0
    /// The model's time.
    public internal(set) var now = Timestamp(milliseconds: 1_800_000_000_000)
    var generator: SeededGenerator
    /// Operations so far.
    public internal(set) var operationCount = 0

    /// An empty model for an empty store.
    ///
    /// - Parameter hasQuotas: whether the store is given quotas, others each time.
    public init(seed: UInt64, hasQuotas: Bool = false) {
        generator = SeededGenerator(seed: seed)
        self.hasQuotas = hasQuotas
    }

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

    /// Whether a content is stored: notifications have it, be they expired, or it is held.
    func isStored(_ content: Int) -> Bool { references[content] > 0 || held[content] != nil }

    var storedByteCount: Int {
        (0..<Self.contentCount).filter(isStored).reduce(0) {
            $0 + Self.byteCount(ofContent: $1)
        }
    }

    /// Puts an item in the place of another, or of nothing, and counts what it has.
    mutating func put(_ id: String, _ item: Item?) {
        if let old = items[id] { count(old, -1) }
        if let item { count(item, 1) }
        items[id] = item
    }

    private mutating func count(_ item: Item, _ sign: Int) {
        for content in item.parts.values { references[content] += sign }
        guard let owner = item.owner else { return }
        usage[owner, default: (0, 0)].notifications += sign
        usage[owner, default: (0, 0)].byteCount += sign * item.byteCount
    }

    /// An item comes to its owner, or changes.
    mutating func keep(_ id: String, _ item: Item) {
        put(id, item)
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
