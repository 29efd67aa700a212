import TestSupport
import Testing

@testable import BlobStore

/// Feeds of what matches a filter.
@Suite struct FilteredFeedTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

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
