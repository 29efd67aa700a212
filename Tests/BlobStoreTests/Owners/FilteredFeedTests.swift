import TestSupport
import Testing

@testable import BlobStore

/// Feeds of what matches a filter.
@Suite struct FilteredFeedTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static func words(_ page: FeedPage) -> [String] {
        page.changes.map { "\($0.kind.name) \($0.id)" }
    }

    // A phone was told of each notification for the watch, and had to throw it away itself.
    @Test("A platform and a host leave out what names only others; what names none is for all")
    func targets() throws {
        for (id, platforms, host) in [
            ("all", [], nil), ("apple", ["ios", "watch"], "a.example"), ("web", ["web"], nil),
            ("b", [], "b.example"),
        ] as [(String, [String], String?)] {
            try store.publish(id, owner: "anna") { draft in
                draft.details.platforms = platforms
                draft.details.targetHost = host
            }
        }
        for (filter, ids) in [
            (RecordFilter(platform: "ios"), ["all", "apple", "b"]),
            (RecordFilter(platform: "web"), ["all", "web", "b"]),
            (RecordFilter(platform: "io"), ["all", "b"]),
            (RecordFilter(targetHost: "a.example"), ["all", "apple", "web"]),
            (RecordFilter(platform: "web", targetHost: "b.example"), ["all", "web", "b"]),
            (RecordFilter(isRead: true, platform: "ios"), []),
        ] {
            let page = try store.changes(of: "anna", from: .beginning, matching: filter)
            #expect(page.changes.map(\.id) == ids, "\(filter)")
            var query = HistoryQuery()
            query.filter = filter
            let history = try store.history(of: "anna", query, asOf: noon)
            #expect(history.records.map(\.id) == ids.reversed(), "\(filter)")
        }
        // What is not for the phone any more leaves it, and may come back.
        let phone = RecordFilter(platform: "ios")
        let first = try store.changes(of: "anna", from: .beginning, matching: phone)
        let patched = try store.patch("apple") { $0.platforms = .set(["watch"]) }
        #expect(patched.record?.details.platforms == ["watch"])
        let second = try store.changes(of: "anna", from: .after(first.next), matching: phone)
        #expect(Self.words(second) == ["left apple"])
        let cleared = try store.patch("apple") {
            $0.platforms = .clear
            $0.targetHost = .clear
        }
        #expect(cleared.record?.details.platforms == [])
        #expect(cleared.record?.details.targetHost == nil)
        let third = try store.changes(of: "anna", from: .after(second.next), matching: phone)
        #expect(Self.words(third) == ["updated apple"])
        #expect(try store.patch("apple") { $0.platforms = .set([]) }.isUnchanged)
        for platforms in [
            [""], ["a/b"], [String(repeating: "p", count: 33)], ["ios", "ios"],
            (0..<17).map { "p\($0)" },
        ] {
            let refused = try store.patch("apple") { $0.platforms = .set(platforms) }
            #expect(refused.field == .platform || refused.field == .platforms, "\(platforms)")
        }
        let host = try store.patch("apple") {
            $0.targetHost = .set(String(repeating: "h", count: 256))
        }
        #expect(host.field == .targetHost)
        #expect(try store.verify().problems == [])
    }

    @Test("A page that is all of other apps is bounded, empty, and further on")
    func bounded() throws {
        let count = StoreLimits.feedEntriesLookedAtMax + 10
        for start in stride(from: 0, to: count, by: 1_000) {
            let outcomes = try store.apply(
                (start..<min(count, start + 1_000)).map { number in
                    var draft = NotificationDraft(
                        id: "\(number)", expiry: .at(noon.adding(seconds: 60)))
                    draft.owner = "anna"
                    draft.message = "m"
                    draft.details.app = "chat"
                    return .publishNotification(draft)
                }, asOf: noon)
            #expect(outcomes.allSatisfy { $0.isDone })
        }
        try store.publish("m", owner: "anna") { $0.details.app = "mail" }
        let mail = RecordFilter(app: "mail")
        var page = try store.changes(of: "anna", from: .beginning, matching: mail)
        var looks = 1
        var ids = page.changes.map(\.id)
        var position = page.next.position
        while page.hasMore {
            page = try store.changes(of: "anna", from: .after(page.next), matching: mail)
            #expect(page.next.position > position)
            position = page.next.position
            looks += 1
            ids += page.changes.map(\.id)
        }
        #expect(looks > 1)
        #expect(ids == ["m"])
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
}
