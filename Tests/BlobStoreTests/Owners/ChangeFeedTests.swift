import TestSupport
import Testing

@testable import BlobStore

/// An owner's changes as an asynchronous sequence.
@Suite struct ChangeFeedTests {
    private let folder = TemporaryFolder()

    private func publish(_ id: String, _ owner: String, in store: BlobStore) throws {
        try store.publish(
            Publication(
                id: id, payload: try store.prepare([1]), owner: owner,
                expiry: .at(noon.adding(seconds: 3_600))), asOf: noon)
    }

    /// Until somebody waits, or nobody any more.
    private func waitForWatchers(_ count: Int, of store: BlobStore) async {
        while store.feedWatch.count != count { await Task.yield() }
    }

    @Test("It gives what is there, then each change as it is committed", .timeLimit(.minutes(10)))
    func told() async throws {
        let store = try folder.open()
        try publish("1", "anna", in: store)
        try publish("2", "anna", in: store)
        var pages = store.changeFeed(of: "anna", from: .beginning).makeAsyncIterator()
        let first = try #require(try await pages.next())
        #expect(first.changes.map(\.id) == ["1", "2"] && !first.hasMore)
        for round in 0..<20 {
            let reading = Task { [pages] in
                var pages = pages
                let page = try await pages.next()
                return (page, pages)
            }
            // Now and then before it waits, now and then when it does.
            if round.isMultiple(of: 2) { await waitForWatchers(1, of: store) }
            try publish("of another", "bert", in: store)
            try publish("\(round + 3)", "anna", in: store)
            let (page, rest) = try await reading.value
            #expect(page?.changes.map(\.id) == ["\(round + 3)"])
            #expect(page?.changes.map(\.kind) == [.published])
            pages = rest
        }
        #expect(store.feedWatch.count == 0)
    }

    @Test("It ends with its task", .timeLimit(.minutes(10)))
    func cancelled() async throws {
        let store = try folder.open()
        let reading = Task {
            var count = 0
            for try await page in store.changeFeed(of: "anna", from: .beginning) {
                count += page.changes.count
            }
            return count
        }
        await waitForWatchers(1, of: store)
        reading.cancel()
        #expect(try await reading.value == 0)
        #expect(store.feedWatch.count == 0)
    }

    @Test("It says when the history must be read anew, and when there is no place to wait")
    func refused() async throws {
        let store = try folder.open { $0.watcherCountMax = 0 }
        try publish("1", "anna", in: store)
        var pages = store.changeFeed(of: "anna", from: .beginning).makeAsyncIterator()
        #expect(try await pages.next()?.changes.count == 1)
        do throws(StoreError) {
            _ = try await pages.next()
            Issue.record("it waited")
        } catch {
            guard case .tooManyWatchers(limit: 0, of: .total) = error else { throw error }
        }
        _ = try store.deleteOwner("anna", asOf: noon)
        do throws(StoreError) {
            _ = try await pages.next()
            Issue.record("what was deleted is forgotten, and nobody was told")
        } catch {
            guard case .resync = error else { throw error }
        }
    }
}
