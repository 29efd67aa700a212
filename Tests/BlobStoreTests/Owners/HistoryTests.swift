import TestSupport
import Testing

@testable import BlobStore

@Suite struct HistoryTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static func ids(_ page: HistoryPage) -> [String] { page.records.map(\.id) }

    @Test("In pages of any length it is the same, also while more comes in", arguments: [1, 3, 7])
    func pages(limit: Int) throws {
        for id in 0..<20 {
            try store.publish("\(id)", owner: "anna", group: id % 3 == 0 ? "g" : "h")
        }
        for id in stride(from: 0, to: 20, by: 4) {
            _ = try store.patch("\(id)") { $0.isRead = .set(true) }
        }
        try store.publish("other", owner: "ben", group: "g")
        let all = (0..<20).reversed().map { "\($0)" }
        let third = (0..<20).filter { $0 % 3 == 0 }.reversed().map { "\($0)" }
        let cases: [(String?, [String])] = [
            (nil, all), ("g", third), ("", []), ("gh", []),
            (String(repeating: "g", count: 200), []),
        ]
        for (group, expected) in cases {
            var query = HistoryQuery()
            query.limit = limit
            query.filter.group = group
            var found: [String] = []
            repeat {
                let page = try store.history(of: "anna", query, asOf: noon)
                #expect(page.records.count <= limit)
                found += Self.ids(page)
                query.before = page.next
                // Newer than all that is asked for.
                try store.publish("new", owner: "anna", group: "g")
            } while query.before != nil
            #expect(found == expected, "limit \(limit), group \(group ?? "none")")
            try store.delete("new", asOf: noon)
        }
    }

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
