import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// A client that asked for statistics in a loop made each batch a commit of its own.
@Suite struct PendingStatisticsTests {
    @Test("Statistics have what is in the log, and commit nothing")
    func pending() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        var revision: UInt64 = 0
        for number in 1...5 {
            revision = try store.put("\(number)", [UInt8(number), 1, 2], part: "payload").revision
            try store.put("\(number)", [UInt8(number)], part: "icon")
            let found = try store.statistics()
            #expect(found.notifications == number && found.parts == 2 * number)
            #expect(found.blobs == 2 * number && found.bytes == 4 * number)
            #expect(found.revision == revision + 1)
            #expect(store.pendingChanges.isPending)
        }
        #expect(try store.delete("1", asOf: noon))
        let deleted = try store.statistics()
        #expect(deleted.notifications == 4 && deleted.parts == 8)
        // A snapshot has none of it yet.
        #expect(try store.counters().notifications == 0)
        try store.commitPending()
        let afterCommit = try store.statistics()
        #expect(afterCommit.notifications == 4 && afterCommit.revision == deleted.revision)
        #expect(afterCommit.bytes == deleted.bytes && afterCommit.blobs == deleted.blobs)
        let pending = store.pipeline.pendingCounters.withLock { $0 }
        #expect(pending == nil)
    }

    @Test("A batch that failed is not counted, and what was in the log before it is")
    func failed() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        try store.put("a", [1])
        let long = [UInt8](repeating: 1, count: StoreLimits.loggedBatchByteCountMax + 1)
        try store.put("b", long)
        #expect(try store.statistics().notifications == 2 && !store.pendingChanges.isPending)
        try store.put("c", [2])
        let refused = try store.apply([.publish(try store.publication("d/", [3]))], asOf: noon)
        #expect(!refused[0].isDone)
        #expect(try store.statistics().notifications == 3 && store.pendingChanges.isPending)
        try store.endLogging()
        #expect(try store.statistics().notifications == 3)
    }
}
