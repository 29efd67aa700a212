import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// Changes wait a little each for a commit that lags behind them.
@Suite struct PacingTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore
    private var pipeline: CommitPipeline { store.pipeline }
    private var lag: Int { pipeline.commitLag.load(ordering: .relaxed) }

    init() throws {
        store = try folder.openLogging()
        // As where a thread commits.
        pipeline.onPending { _ in }
    }

    /// An eighth of the log's area.
    private func putMuch(from first: UInt64 = 0) throws {
        for number in first..<first + 8 {
            let bytes = SeededGenerator.bytes(StoreLimits.logAreaByteCount / 64, seed: number)
            try store.put("\(number)", bytes)
        }
    }

    @Test("A commit lags behind while much follows it, the less the more of it is written")
    func lags() throws {
        try putMuch()
        #expect(lag == 0, "nothing is being committed")
        try store.beginCheckpoint()
        try putMuch(from: 8)
        let first = lag
        #expect(first >= 100)
        let frozen = try #require(pipeline.uncommitted.frozen).memtable
        // A quarter of its keys.
        while frozen.writtenShare < 250 { frozen.writtenCount.add(1, ordering: .relaxed) }
        try store.put("more", [1])
        #expect(lag < first)
        try store.checkpoint()
        #expect(lag == 0, "it is done")
        try store.put("last", [1])
        #expect(lag == 0)
    }

    /// Where there is no room for the commit, it is not waited for besides.
    @Test("Who waits for room does not wait for the commit, too")
    func stuck() throws {
        try store.put("a", [1])
        try store.beginCheckpoint()
        try putMuch()
        #expect(lag > 0)
        pipeline.writing.withLock { _ in pipeline.uncommitted.isStuck = true }
        try store.put("b", [1])
        #expect(lag == 0)
    }

    @Test("A batch waits for 0.4 ms for each change, for ten milliseconds at the most")
    func waits() {
        func milliseconds(_ changeCount: Int, lag: Int) -> Int {
            pipeline.commitLag.store(lag, ordering: .relaxed)
            let clock = ContinuousClock()
            // The shortest of several: others run besides.
            let shortest = (0..<5).map { _ in clock.measure { pipeline.pace(changeCount) } }.min()
            return Int((shortest ?? .zero) / .milliseconds(1))
        }
        #expect(milliseconds(10, lag: 1_000) >= 4)
        #expect(milliseconds(20, lag: 500) >= 4)
        #expect(10..<500 ~= milliseconds(1_000_000, lag: 1_000))
    }
}
