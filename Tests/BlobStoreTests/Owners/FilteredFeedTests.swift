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

    /// A device that keeps the unread ones asked for the changes of everything and read each
    /// record; one that asked for unread ones would never have heard that another device read it.
    @Test("What was changed and does not match is told as left, without its record")
    func left() throws {
        for id in ["a", "b", "c"] { try store.publish(id, owner: "anna", group: "g") }
        let unread = RecordFilter(isRead: false)
        let first = try store.changes(of: "anna", from: .beginning, matching: unread)
        #expect(Self.words(first) == ["published a", "published b", "published c"])
        let read = try store.patch("b") { patch in
            patch.isRead = .set(true)
            patch.device = "phone"
        }
        let second = try store.changes(of: "anna", from: .after(first.next), matching: unread)
        #expect(Self.words(second) == ["left b"])
        #expect(second.changes[0].record == nil)
        #expect(second.changes[0].device == "phone")
        #expect(second.changes[0].revision == read.record?.revision)
        // One that never matched is told as well: who does not have it passes it over.
        try store.publish("d", owner: "anna") { $0.details.isRead = true }
        _ = try store.patch("b") { $0.isRead = .set(false) }
        _ = try store.apply(.delete(id: "c"))
        let third = try store.changes(of: "anna", from: .after(second.next), matching: unread)
        #expect(Self.words(third) == ["left d", "updated b", "deleted c"])
        // Who begins has nothing that could leave.
        let anew = try store.changes(of: "anna", from: .beginning, matching: unread)
        #expect(Self.words(anew) == ["published a", "updated b"])
        for (filter, ids) in [
            (RecordFilter(isRead: true), ["d"]), (RecordFilter(group: "g"), ["a", "b"]),
            (RecordFilter(actionState: ActionState.none), ["a", "d", "b"]),
            (RecordFilter(actionState: .snoozed), []),
            (RecordFilter(isRead: false, group: "h"), []),
        ] {
            let page = try store.changes(of: "anna", from: .beginning, matching: filter)
            #expect(page.changes.map(\.id) == ids, "\(filter)")
        }
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

    /// A cursor from the middle of a first reading has a base: what was so before that is not told.
    @Test(
        "A first reading in pages is told what leaves meanwhile, and nothing that had left before")
    func pages() throws {
        for id in ["a", "b", "c", "d"] { try store.publish(id, owner: "anna") }
        _ = try store.patch("a") { $0.isRead = .set(true) }
        let unread = RecordFilter(isRead: false)
        let first = try store.changes(of: "anna", from: .beginning, limit: 1, matching: unread)
        #expect(Self.words(first) == ["published b"])
        _ = try store.patch("b") { $0.isRead = .set(true) }
        _ = try store.patch("c") { $0.isRead = .set(true) }
        var words: [String] = []
        var page = first
        while page.hasMore {
            page = try store.changes(
                of: "anna", from: .after(page.next), limit: 1, matching: unread)
            words += Self.words(page)
        }
        #expect(words == ["published d", "left b", "left c"])
    }

    @Test("An app's feed tells nothing of other apps, not even what left")
    func apps() throws {
        let mail = RecordFilter(app: "mail")
        func publish(_ id: String, _ app: String?) throws {
            try store.publish(id, owner: "anna") { $0.details.app = app }
        }
        try publish("m", "mail")
        try publish("c", "chat")
        try publish("n", nil)
        let first = try store.changes(of: "anna", from: .beginning, matching: mail)
        #expect(Self.words(first) == ["published m"])
        for id in ["c", "n", "m"] { _ = try store.patch(id) { $0.isRead = .set(true) } }
        _ = try store.apply(.delete(id: "c"))
        let second = try store.changes(of: "anna", from: .after(first.next), matching: mail)
        #expect(Self.words(second) == ["updated m"])
        #expect(second.next.position == second.revision)
        // It goes over to the other app, and back.
        try publish("m", "chat")
        let third = try store.changes(of: "anna", from: .after(second.next), matching: mail)
        #expect(Self.words(third) == ["deleted m"])
        let chat = try store.changes(
            of: "anna", from: .after(second.next), matching: RecordFilter(app: "chat"))
        #expect(Self.words(chat) == ["published m"])
        let all = try store.changes(of: "anna", from: .after(second.next))
        #expect(Self.words(all) == ["deleted m", "published m"])
        try publish("m", "mail")
        let fourth = try store.changes(of: "anna", from: .after(third.next), matching: mail)
        #expect(Self.words(fourth) == ["published m"])
        let read = RecordFilter(app: "mail", isRead: true)
        let fifth = try store.changes(of: "anna", from: .after(third.next), matching: read)
        #expect(Self.words(fifth) == ["left m"])
        var query = HistoryQuery()
        query.filter = mail
        #expect(try store.history(of: "anna", query, asOf: noon).records.map(\.id) == ["m"])
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
