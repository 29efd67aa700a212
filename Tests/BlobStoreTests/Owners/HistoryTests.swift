import TestSupport
import Testing

@testable import BlobStore

@Suite struct HistoryTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static func ids(_ page: HistoryPage) -> [String] { page.records.map(\.id) }

    @Test("A page ends when it has looked at so many entries, with none of them if need be")
    func lookedAt() throws {
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
}
