import BlobJSON
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// Batches that are acknowledged once they are in the log.
@Suite struct LoggedChangesTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.openLogging() }

    @Test(
        "Acknowledged, a change is in the log and in no snapshot; committed, it is in all of them")
    func acknowledged() throws {
        try store.put("old", [9])
        try store.commitPending()
        #expect(!store.pendingChanges.isPending && store.pendingKeys.isEmpty)
        let commitCount = store.pendingKeys.commitCount
        try store.put("a", [1])
        try store.delete("old", asOf: noon)
        let pendingKeys = store.pendingChanges
        #expect(pendingKeys.isPending && !pendingKeys.isAwaited)
        #expect(pendingKeys.batchCount == 2)
        #expect(pendingKeys.byteCount == 2 * LogRecord.alignment)
        #expect(!store.pendingKeys.isEmpty)
        #expect(store.mayBeUnsettled("a") && store.mayBeUnsettled("old"))
        #expect(!store.mayBeUnsettled("b"))
        let found = (try store.lookUp("a"), try store.lookUp("old"))
        #expect(found == (.missing, .found))
        do {
            let snapshot = try store.makeSnapshot()
            let isCurrent = snapshot.isCurrent
            #expect(isCurrent)
            try store.commitPending()
            let isCurrentStill = snapshot.isCurrent
            #expect(!isCurrentStill)
        }
        #expect(store.pendingKeys.commitCount == commitCount + 1)
        #expect(store.pendingChanges.batchCount == 0 && store.pendingKeys.isEmpty)
        #expect(!store.mayBeUnsettled("a"))
        let after = (try store.lookUp("a"), try store.lookUp("old"))
        #expect(after == (.found, .missing))
        // Nothing pending: no commit.
        let snapshot = try store.makeSnapshot()
        try store.commitPending()
        let isCurrent = snapshot.isCurrent
        #expect(isCurrent)
    }

    @Test("What changes nothing writes nothing")
    func nothing() throws {
        #expect(try !store.delete("none", asOf: noon))
        #expect(!store.pendingChanges.isPending)
        try store.put("a", [1])
        let before = store.pendingChanges.byteCount
        let outcomes = try store.apply(
            [.delete(id: "none"), .publish(try store.publication("a/b", [1]))], asOf: noon)
        #expect(outcomes.allSatisfy { !$0.isDone })
        #expect(store.pendingChanges.byteCount == before)
        #expect(store.pendingChanges.isPending)
        // Nor has it spoilt what is open.
        try store.put("b", [2])
        #expect(try folder.withCopy { try $0.counters().notifications } == 2)
    }

    @Test("A watcher of an owner is notified at the commit, and counts as waiting")
    func awaited() throws {
        let registration = try store.feedWatch.register(Array("anna".utf8)) {}
        #expect(registration.wait(after: 0))
        _ = try store.apply([.publish(try store.publication("a", [1], owner: "ben"))], asOf: noon)
        #expect(!store.pendingChanges.isAwaited)
        _ = try store.apply([.publish(try store.publication("b", [1], owner: "anna"))], asOf: noon)
        #expect(store.pendingChanges.isAwaited)
        _ = try store.apply([.publish(try store.publication("c", [1], owner: "ben"))], asOf: noon)
        #expect(store.pendingChanges.isAwaited)
        try store.commitPending()
        #expect(!store.pendingChanges.isAwaited)
        #expect(try store.changes(of: "anna", from: .beginning).changes.map(\.id) == ["b"])
    }

    @Test("Left without a commit and opened again in the same process, it has everything")
    func dropped() throws {
        let folder = TemporaryFolder()
        do {
            let store = try folder.openLogging()
            try store.put("a", [1])
        }
        let store = try folder.openLogging()
        #expect(try store.lookUp("a") == .found)
        #expect(store.pendingKeys.isEmpty && !store.pendingChanges.isPending)
        // Nothing of it is done again later.
        try store.delete("a", asOf: noon)
        #expect(try folder.withCopy { try $0.lookUp("a") } == .missing)
    }

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

    private final class End: Sendable {
        let isReached = Atomic(false)
    }

    /// The filter was once cleared before the count: who read in between asked a filter that was half empty.
    @Test("While changes are counted as uncommitted the filter has their keys")
    func clearedInOrder() async throws {
        let folder = TemporaryFolder()
        do { _ = try folder.open() }
        let keys = try PendingKeys(folder.path, isWriter: true)
        let end = End()
        let key: [UInt8] = Array("notification".utf8)
        let (asked, missed) = await withTaskGroup(of: (Int, Int)?.self) { group in
            group.addTask {
                var asked = 0
                var missed = 0
                var turns = 0
                while !end.isReached.load(ordering: .acquiring) {
                    turns += 1
                    // The writer may have no other thread than this one.
                    if turns.isMultiple(of: 64) { await Task.yield() }
                    let clears = keys.commitCount
                    let before = keys.batchCount
                    let isFound = keys.mayContain(key.span.bytes)
                    guard before > 0, keys.batchCount > 0, keys.commitCount == clears else {
                        continue
                    }
                    asked += 1
                    if !isFound { missed += 1 }
                }
                return (asked, missed)
            }
            group.addTask {
                for round in 0..<testRounds(4_000) {
                    keys.insert(key.span.bytes, .notification)
                    _ = keys.addBatch(of: UInt64(round), changeCount: 1)
                    if round.isMultiple(of: 16) { await Task.yield() }
                    keys.clear()
                }
                end.isReached.store(true, ordering: .releasing)
                return nil
            }
            var result = (0, 0)
            for await counts in group { result = counts ?? result }
            return result
        }
        keys.unmap()
        #expect(missed == 0 && asked >= 100, "\(missed) of \(asked)")
    }
}
