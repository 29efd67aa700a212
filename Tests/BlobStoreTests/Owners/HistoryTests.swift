import TestSupport
import Testing

@testable import BlobStore

@Suite struct HistoryTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static func ids(_ page: HistoryPage) -> [String] { page.records.map(\.id) }

    @Test("Newest first by when they came, whatever became of them since")
    func order() throws {
        for id in ["a", "b", "c"] { try store.publish(id, owner: "anna") }
        _ = try store.patch("a") { $0.isRead = .set(true) }
        _ = try store.patch("a") { $0.isRead = .set(false) }
        try store.publish("b", owner: "anna") { $0.message = "again" }
        let page = try store.history(of: "anna", asOf: noon)
        #expect(Self.ids(page) == ["c", "b", "a"])
        #expect(page.next == nil)
        let revision = try store.statistics().revision
        #expect(page.cursor == FeedCursor(position: revision, base: 0))
        #expect(page.records[1].message == "again")
        #expect(page.records[1].sequence == 2)
        // One that goes and comes back is new.
        try store.delete("a", asOf: noon)
        try store.publish("a", owner: "anna")
        let after = try store.history(of: "anna", asOf: noon)
        #expect(Self.ids(after) == ["a", "c", "b"])
    }

    @Test("What has expired is left out, swept or not")
    func expired() throws {
        try store.publish("short", owner: "anna", seconds: 10)
        try store.publish("long", owner: "anna")
        let later = noon.adding(seconds: 10)
        let before = try store.history(of: "anna", asOf: later)
        #expect(Self.ids(before) == ["long"])
        _ = try store.sweepExpired(asOf: later, limit: 10)
        let after = try store.history(of: "anna", asOf: later)
        #expect(Self.ids(after) == ["long"])
    }

    @Test("In pages of any length it is the same, also while more comes in", arguments: 1...7)
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
            query.group = group
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

    @Test("Only read ones, only unread ones, only those of a state")
    func filters() throws {
        for id in ["a", "b", "c", "d"] { try store.publish(id, owner: "anna", group: "g") }
        _ = try store.patch("b") { $0.isRead = .set(true) }
        _ = try store.patch("c") {
            $0.isRead = .set(true)
            $0.actionState = .set(.snoozed)
        }
        func ids(_ change: (inout HistoryQuery) -> Void) throws -> [String] {
            var query = HistoryQuery()
            change(&query)
            let all = try store.history(of: "anna", query, asOf: noon)
            query.group = "g"
            let members = try store.history(of: "anna", query, asOf: noon)
            #expect(Self.ids(all) == Self.ids(members))
            return Self.ids(all)
        }
        #expect(try ids { $0.isRead = true } == ["c", "b"])
        #expect(try ids { $0.isRead = false } == ["d", "a"])
        #expect(try ids { $0.actionState = .snoozed } == ["c"])
        #expect(try ids { $0.actionState = ActionState.none } == ["d", "b", "a"])
        #expect(
            try ids {
                $0.isRead = false
                $0.actionState = .snoozed
            } == [])
    }

    @Test("A group has who is in it now, in their places in the history")
    func groups() throws {
        for id in ["a", "b", "c"] { try store.publish(id, owner: "anna", group: "g") }
        _ = try store.patch("b") { $0.group = .set("h") }
        _ = try store.patch("c") { $0.group = .clear }
        _ = try store.patch("a") { $0.isRead = .set(true) }
        for (group, expected) in [("g", ["a"]), ("h", ["b"])] {
            var query = HistoryQuery()
            query.group = group
            let page = try store.history(of: "anna", query, asOf: noon)
            #expect(Self.ids(page) == expected, "\(group)")
        }
        let all = try store.history(of: "anna", asOf: noon)
        #expect(Self.ids(all) == ["c", "b", "a"])
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
