import BlobJSON
import TestSupport
import Testing

@testable import BlobStore

/// Pages of feeds and histories: their bounds, filters, and when a device has to read the history again. What they
/// tell is compared with the model.
@Suite struct FeedTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    /// What a change says, in short.
    private static func words(_ page: FeedPage) -> [String] {
        page.changes.map { "\($0.kind.name) \($0.id)" }
    }

    @Test("Each owner has its own, by bytes; one that has nothing, or cannot be, has none")
    func owners() throws {
        let owners = ["a", "ab", "b", " ", "\u{e9}", "e\u{301}"]
        for (index, owner) in owners.enumerated() { try store.publish("\(index)", owner: owner) }
        for (index, owner) in owners.enumerated() {
            let page = try store.changes(of: owner, from: .beginning)
            #expect(Self.words(page) == ["published \(index)"], "\(owner)")
        }
        let none = [
            "", "c", String(repeating: "o", count: 256), String(repeating: "o", count: 1_000),
            "a\0\u{1}", "\0",
        ]
        for owner in none {
            let page = try store.changes(of: owner, from: .beginning)
            #expect(page.changes.isEmpty)
            #expect(!page.hasMore)
            #expect(page.next == FeedCursor(position: 6, base: 0))
            #expect(try store.history(of: owner, asOf: noon).records.isEmpty)
        }
    }

    @Test("A page ends at its limit")
    func limit() throws {
        for id in 0..<5 { try store.publish("\(id)", owner: "anna") }
        for (limit, expected) in [(1, 1), (4, 4), (5, 5), (1_000, 5)] {
            let page = try store.changes(of: "anna", from: .beginning, limit: limit)
            #expect(page.changes.count == expected, "limit \(limit)")
            #expect(page.hasMore == (expected < 5), "limit \(limit)")
        }
    }

    /// An owner whose every notification was changed long ago has as many places that the feed
    /// passes over.
    @Test("A page ends when it has looked at so many entries, with none of them if need be")
    func lookedAt() throws {
        let count = UInt64(StoreLimits.feedEntriesLookedAtMax) + 10
        try store.addPlaces(.history, of: "anna", at: 1...count)
        let last = try store.publish("a", owner: "anna").revision
        #expect(last == count + 1)
        let first = try store.changes(of: "anna", from: .beginning)
        #expect(first.changes.isEmpty)
        #expect(first.hasMore)
        let lookedAt = UInt64(StoreLimits.feedEntriesLookedAtMax)
        #expect(first.next == FeedCursor(position: lookedAt, base: last))
        let second = try store.changes(of: "anna", from: .after(first.next))
        #expect(second.changes.map(\.revision) == [last])
        #expect(!second.hasMore)
    }

    private static func ids(_ page: HistoryPage) -> [String] { page.records.map(\.id) }

    @Test("A page ends when it has looked at so many entries, with none of them if need be")
    func historyLookedAt() throws {
        try store.publish("a", owner: "anna")
        let count = UInt64(StoreLimits.historyEntriesLookedAtMax) + 10
        try store.addPlaces(.feed, of: "anna", at: 2...count)
        var query = HistoryQuery()
        let first = try store.history(of: "anna", query, asOf: noon)
        #expect(first.records.isEmpty)
        #expect(first.next != nil)
        query.before = first.next
        let second = try store.history(of: "anna", query, asOf: noon)
        #expect(Self.ids(second) == ["a"])
        #expect(second.next == nil)
    }

    @Test("A page that is all of other apps is bounded, empty, and further on")
    func bounded() throws {
        let count = StoreLimits.feedEntriesLookedAtMax + 10
        for start in stride(from: 0, to: count, by: 1_000) {
            let outcomes = try store.apply(
                (start..<min(count, start + 1_000)).map {
                    .notification("\($0)", owner: "anna") { $0.details.app = "chat" }
                }, asOf: noon)
            #expect(outcomes.allSatisfy { $0.isDone })
        }
        try store.publish("m", owner: "anna") { $0.details.app = "mail" }
        let mail = RecordFilter(app: "mail")
        let first = try store.changes(of: "anna", from: .beginning, matching: mail)
        #expect(first.changes.isEmpty && first.hasMore)
        let second = try store.changes(of: "anna", from: .after(first.next), matching: mail)
        #expect(second.changes.map(\.id) == ["m"] && !second.hasMore)
    }

    @Test("A sequence of pages goes on over what is not told")
    func sequence() async throws {
        var pages = store.changeFeed(
            of: "anna", from: .latest, matching: RecordFilter(app: "mail")
        ).makeAsyncIterator()
        let writer = Task {
            for number in 0..<50 {
                try store.publish("c\(number)", owner: "anna") { $0.details.app = "chat" }
            }
            try store.publish("m", owner: "anna") { $0.details.app = "mail" }
        }
        let page = try await pages.next()
        #expect(page?.changes.map(\.id) == ["m"])
        try await writer.value
    }

    private static let retention: Int64 = 2_000

    private static func open(_ folder: TemporaryFolder) throws -> BlobStore {
        try folder.open { $0.tombstoneRetentionMilliseconds = retention * 1_000 }
    }

    private static func isRefused(
        _ store: BlobStore, _ owner: String, _ cursor: FeedCursor
    ) throws -> Bool {
        do {
            _ = try store.changes(of: owner, from: .after(cursor))
            return false
        } catch StoreError.resync {
            return true
        }
    }

    /// A full store has no room for tombstones. Devices then kept what was deleted, and nobody told them.
    @Test("A removal without room for its tombstone sends every earlier place back to the history")
    func withoutRoom() throws {
        let folder = TemporaryFolder()
        let store = try Self.open(folder)
        for id in ["a", "b", "c"] { try store.publish(id, owner: "anna", seconds: 10_000) }
        let places = (0...4).map { FeedCursor(position: $0, base: 0) }
        try store.pipeline.change(asOf: noon, isPublishing: true) {
            (transaction) throws(StoreError) in
            transaction.remembersRemovals = false
            _ = try transaction.remove(Removal(id: "b"))
        }
        for place in places {
            #expect(try Self.isRefused(store, "anna", place) == (place.position < 4), "\(place)")
        }
        #expect(try store.changes(of: "anna", from: .beginning).changes.map(\.id) == ["a", "c"])
        #expect(try store.verify().problems == [])
    }

    @Test("A place before the removal of all that an owner had is refused, one at it is not")
    func purged() throws {
        for id in ["a", "b"] { try store.publish(id, owner: "anna") }
        try store.deleteOwner("anna", asOf: noon)
        let end = try store.counters().revision
        for position in 0...end {
            let place = FeedCursor(position: position, base: 0)
            #expect(try Self.isRefused(store, "anna", place) == (position < end), "\(position)")
            #expect(try !Self.isRefused(store, "ben", place))
        }
    }

    @Test("A place ahead of the store is refused: it was put back from a copy")
    func future() throws {
        let folder = TemporaryFolder()
        let store = try Self.open(folder)
        try store.publish("a", owner: "anna")
        #expect(try !Self.isRefused(store, "anna", FeedCursor(position: 1, base: 0)))
        #expect(try Self.isRefused(store, "anna", FeedCursor(position: 2, base: 0)))
        #expect(try Self.isRefused(store, "anna", FeedCursor(position: 0, base: 2)))
        #expect(try Self.isRefused(store, "anna", FeedCursor(position: .max, base: 0)))
    }
}
