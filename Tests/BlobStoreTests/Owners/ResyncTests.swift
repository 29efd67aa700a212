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
