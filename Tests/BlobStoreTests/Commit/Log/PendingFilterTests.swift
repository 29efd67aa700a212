import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// What says which keys have uncommitted changes, asked while a writer clears it.
@Suite struct PendingFilterTests {
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
                    keys.addBatch(of: UInt64(round), changeCount: 1)
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
        #expect(missed == 0, "of \(asked)")
    }
}
