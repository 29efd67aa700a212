import BlobJSON
import TestSupport
import Testing

@testable import BlobStore

@Suite struct FeedTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    /// What a change says, in short.
    private static func words(_ page: FeedPage) -> [String] {
        page.changes.map { "\($0.kind.name) \($0.id)" }
    }

    @Test("Each notification comes once, with its latest change, in the order of the commits")
    func latest() throws {
        for id in ["a", "b", "c"] { try store.publish(id, owner: "anna") }
        let first = try store.changes(of: "anna", from: .beginning)
        #expect(Self.words(first) == ["published a", "published b", "published c"])
        #expect(first.changes.map(\.revision) == [1, 2, 3])
        #expect(!first.hasMore)
        #expect(first.next == FeedCursor(position: 3, base: 0))
        #expect(first.revision == 3)

        _ = try store.patch("a") {
            $0.isRead = .set(true)
            $0.device = "phone"
        }
        _ = try store.patch("a") {
            $0.actionState = .set(.dismissed)
            $0.device = "watch"
        }
        try store.publish("d", owner: "anna")
        _ = try store.apply(.remove(Removal(id: "b", device: "tablet")))
        let second = try store.changes(of: "anna", from: .after(first.next))
        #expect(Self.words(second) == ["updated a", "published d", "deleted b"])
        #expect(second.changes.map(\.device) == ["watch", nil, "tablet"])
        #expect(second.changes[0].record?.details.isRead == true)
        let stored = try store.record(for: "a", asOf: noon)
        #expect(second.changes[0].record == stored)
        #expect(second.changes[2].record == nil)
        let third = try store.changes(of: "anna", from: .after(second.next))
        #expect(third.changes.isEmpty)
        #expect(third.next == second.next)
        // One by one: each change's own place leads to the next.
        for (change, behind) in zip(second.changes, second.changes.dropFirst()) {
            let page = try store.changes(of: "anna", from: .after(change.cursor), limit: 1)
            #expect(page.changes.map(\.revision) == [behind.revision])
        }
    }

    @Test("Behind everything there is, nothing is told of what was")
    func fromNow() throws {
        try store.publish("a", owner: "anna")
        let page = try store.changes(of: "anna", from: .latest)
        #expect(page.changes.isEmpty)
        #expect(!page.hasMore)
        try store.publish("b", owner: "anna")
        let next = try store.changes(of: "anna", from: .after(page.next))
        #expect(Self.words(next) == ["published b"])
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

    @Test("A page ends at its limit, whatever limit is asked for")
    func limit() throws {
        for id in 0..<5 { try store.publish("\(id)", owner: "anna") }
        for (limit, expected) in [(0, 1), (-7, 1), (1, 1), (4, 4), (5, 5), (.max, 5)] {
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
}
