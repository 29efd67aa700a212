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
