import TestSupport
import Testing

@testable import BlobStore

/// When a device has been away for too long to be told what is gone.
@Suite struct ResyncTests {
    private static let retention: Int64 = 2_000
    private static let later = noon.adding(seconds: retention)

    private static func open(_ folder: TemporaryFolder) throws -> BlobStore {
        try folder.open { $0.tombstoneRetentionMilliseconds = retention * 1_000 }
    }

    private static func isRefused(
        _ store: BlobStore, _ owner: String, _ cursor: FeedCursor
    ) throws -> Bool {
        do {
            _ = try store.changes(of: owner, from: .after(cursor))
            return false
        } catch StoreError.resync {
            return true
        }
    }

    @Test("A place before a removal that was forgotten is refused, one at it is not")
    func horizon() throws {
        let folder = TemporaryFolder()
        let store = try Self.open(folder)
        for id in ["a", "b", "c"] { try store.publish(id, owner: "anna", seconds: 10_000) }
        try store.delete("b", asOf: noon)
        let places = (0...4).map { FeedCursor(position: $0, base: 0) }
        // A millisecond before its time it is still there.
        let early = Timestamp(milliseconds: Self.later.milliseconds - 1)
        _ = try store.sweepExpired(asOf: early, limit: 10)
        for place in places { #expect(try !Self.isRefused(store, "anna", place)) }
        let kept = try store.changes(of: "anna", from: .after(places[3]))
        #expect(kept.changes.map(\.kind) == [.deleted])

        #expect(try store.sweepExpired(asOf: Self.later, limit: 10).forgotten == 1)
        for place in places {
            #expect(try Self.isRefused(store, "anna", place) == (place.position < 4))
        }
        // The horizon is one for the store.
        #expect(try Self.isRefused(store, "ben", places[3]))
        #expect(try !Self.isRefused(store, "ben", places[4]))
        // A first walk that began behind it goes on, however far back it is.
        #expect(try !Self.isRefused(store, "anna", FeedCursor(position: 1, base: 4)))
        #expect(try Self.isRefused(store, "anna", FeedCursor(position: 1, base: 3)))
        #expect(try store.changes(of: "anna", from: .beginning).changes.map(\.id) == ["a", "c"])
        let history = try store.history(of: "anna", asOf: Self.later)
        #expect(try !Self.isRefused(store, "anna", history.cursor))
        #expect(try store.verify().problems == [])
    }

    /// A full store has no room for tombstones. Devices then kept what was deleted, and nobody told them.
    @Test("A removal without room for its tombstone sends every earlier place back to the history")
    func withoutRoom() throws {
        let folder = TemporaryFolder()
        let store = try Self.open(folder)
        for id in ["a", "b", "c"] { try store.publish(id, owner: "anna", seconds: 10_000) }
        let places = (0...4).map { FeedCursor(position: $0, base: 0) }
        try store.pipeline.whileWriting { () throws(StoreError) in
            try store.pipeline.inTransaction(growth: 0, asOf: noon, isPublishing: false) {
                (transaction) throws(StoreError) in
                transaction.remembersRemovals = false
                _ = try transaction.remove(Removal(id: "b"))
            }
        }
        for place in places {
            #expect(try Self.isRefused(store, "anna", place) == (place.position < 4), "\(place)")
        }
        #expect(try store.changes(of: "anna", from: .beginning).changes.map(\.id) == ["a", "c"])
        #expect(try store.verify().problems == [])
    }

    @Test("A place ahead of the store is refused: it was put back from a copy")
    func future() throws {
        let folder = TemporaryFolder()
        let store = try Self.open(folder)
        try store.publish("a", owner: "anna")
        #expect(try !Self.isRefused(store, "anna", FeedCursor(position: 1, base: 0)))
        #expect(try Self.isRefused(store, "anna", FeedCursor(position: 2, base: 0)))
        #expect(try Self.isRefused(store, "anna", FeedCursor(position: 0, base: 2)))
        #expect(try Self.isRefused(store, "anna", FeedCursor(position: .max, base: 0)))
    }
}
