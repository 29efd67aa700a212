import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// Edits of categories in the feeds of those who show them. Devices that had read a category never
/// heard that it was changed.
@Suite struct CategoryEditTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static let yes = NotificationAction(identifier: "yes", title: "Yes")

    private func set(
        _ store: BlobStore, _ name: String, _ actions: [NotificationAction],
        asOf now: Timestamp = noon
    ) throws {
        let outcome = try store.apply(
            .setCategory(Category(name: name, actions: actions)), asOf: now)
        #expect(outcome.isDone)
    }

    /// What an owner's feed tells behind a place, in short.
    private func words(
        _ store: BlobStore, _ owner: String,
        from start: FeedStart = .after(FeedCursor(position: 0, base: 0))
    ) throws -> [String] {
        try store.changes(of: owner, from: start, limit: 1_000).changes.map {
            "\($0.kind.name) \($0.id)"
        }
    }

    @Test("An edit reaches those who show the category, once each, and nobody else")
    func reaches() throws {
        try set(store, "ask", [])
        try set(store, "other", [])
        for id in ["a1", "a2", "a3"] {
            try store.publish(id, owner: "anna") { $0.details.category = "ask" }
        }
        try store.publish("b", owner: "ben") { $0.details.category = "other" }
        try store.publish("c", owner: "cleo")
        try store.publish("d", owner: "dora", seconds: 10) { $0.details.category = "ask" }
        try store.publish("nobody", owner: nil) { $0.details.category = "ask" }
        try store.publish("e", owner: "emil") {
            $0.details.category = "ask"
            $0.details.actions = []
        }
        let before = try store.changes(of: "anna", from: .latest).next
        // In the very millisecond in which one of them expires.
        try set(store, "ask", [Self.yes], asOf: noon.adding(seconds: 10))
        let page = try store.changes(of: "anna", from: .after(before))
        #expect(page.changes.map(\.kind) == [.category])
        #expect(page.changes[0].id == "ask")
        let category = try store.category("ask")
        #expect(page.changes[0].category == category)
        #expect(category?.actions == [Self.yes])
        #expect(page.changes[0].record == nil)
        #expect(page.changes[0].revision > category?.revision ?? .max)
        #expect(try words(store, "emil", from: .after(before)) == ["category ask"])
        for owner in ["ben", "cleo", "dora"] {
            #expect(try words(store, owner, from: .after(before)) == [], "\(owner)")
        }
        // What was read is not told again, nor to one who begins now.
        #expect(try words(store, "anna", from: .after(page.next)) == [])
        #expect(
            try words(store, "anna", from: .beginning)
                == ["published a1", "published a2", "published a3"])
        let again = try store.counters()
        try set(store, "ask", [Self.yes], asOf: noon.adding(seconds: 11))
        #expect(try store.counters() == again)
        #expect(try store.verify().problems == [])
    }

    @Test("Many owners are told in bounded steps, each once, also over a crash in between")
    func steps() throws {
        let folder = TemporaryFolder()
        let ownerCount = 200
        do {
            let store = try folder.open()
            try set(store, "ask", [])
            for round in 0..<3 {
                let changes = (0..<ownerCount).map { number in
                    Change.notification("\(round)-\(number)", owner: "owner \(number)") {
                        $0.details.category = "ask"
                    }
                }
                _ = try store.apply(changes, asOf: noon)
            }
            // As the daemon does it: the edit first, the owners in steps.
            let outcomes = try store.apply(
                [.setCategory(Category(name: "ask", actions: [Self.yes]))], asOf: noon,
                isCommitting: true)
            #expect(outcomes[0].isDone)
            #expect(store.hasCategoryEdits)
            let place = try store.counters().revision
            #expect(try store.announceCategoryEdits(asOf: noon))
            let told = try store.counters().revision - place
            #expect(told == UInt64(StoreLimits.categoryEditOwnerCountMax))
            #expect(try store.verify().problems == [])
        }
        let store = try folder.open()
        // Who repeats the edit is not answered before all are told.
        #expect(store.hasCategoryEdits)
        var steps = 0
        while try store.sweepExpired(asOf: noon, limit: 100).more { steps += 1 }
        #expect(steps >= 2)
        for number in 0..<ownerCount {
            let page = try store.changes(
                of: "owner \(number)", from: .after(FeedCursor(position: 0, base: 0)))
            #expect(page.changes.filter { $0.kind == .category }.count == 1, "\(number)")
        }
        #expect(try store.counters().revision == UInt64(1 + 3 * ownerCount + 1 + ownerCount))
        #expect(try !store.sweepExpired(asOf: noon, limit: 100).more)
        #expect(try store.verify().problems == [])
    }

    @Test("More notifications than one step looks at")
    func manyNotifications() throws {
        try set(store, "ask", [])
        let count = StoreLimits.categoryEditRecordCountMax + 10
        _ = try store.apply(
            (0..<count).map { .notification("\(100_000 + $0)", owner: "anna") }, asOf: noon)
        try store.publish("last", owner: "zoe") { $0.details.category = "ask" }
        try set(store, "ask", [Self.yes])
        #expect(try words(store, "zoe") == ["published last", "category ask"])
        #expect(!store.hasCategoryEdits)
    }

    @Test("A line is forgotten after its retention, and who has not read it must read anew")
    func retention() throws {
        let folder = TemporaryFolder()
        let store = try folder.open { $0.tombstoneRetentionMilliseconds = 1_000_000 }
        try set(store, "ask", [])
        try store.publish("a", owner: "anna", seconds: 10_000) { $0.details.category = "ask" }
        let before = try store.changes(of: "anna", from: .latest).next
        try set(store, "ask", [Self.yes])
        let after = try store.changes(of: "anna", from: .after(before)).next
        #expect(try store.sweepExpired(asOf: noon.adding(seconds: 1_000), limit: 10).forgotten == 1)
        #expect(throws: StoreError.self) {
            _ = try store.changes(of: "anna", from: .after(before))
        }
        #expect(try words(store, "anna", from: .after(after)) == [])
        #expect(try store.counters().tombstones == 0)
        #expect(try store.ownerIndex("anna").finderCount == 0)
        #expect(try store.verify().problems == [])
    }

    @Test("A damaged record is stepped over, a damaged place of the telling is given up")
    func damage() throws {
        try set(store, "ask", [])
        for id in ["a", "b"] {
            try store.publish(id, owner: id) { $0.details.category = "ask" }
        }
        try store.overwrite(
            IndexKeys.categoryEdit("broken"), in: store.core.tables.index, with: [1, 2, 3])
        let notifications = store.core.tables.notifications
        let record = try #require(try store.entries(of: notifications).first)
        try store.overwrite(
            record.key, in: notifications,
            with: record.value.flipping(bit: 8 * record.value.count - 1))
        try set(store, "ask", [Self.yes])
        #expect(try words(store, "b") == ["published b", "category ask"])
        #expect(try !store.sweepExpired(asOf: noon, limit: 10).more)
    }
}
