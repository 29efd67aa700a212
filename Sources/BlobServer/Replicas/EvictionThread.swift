import BlobStore
import CLinux
import Logging
import Replication

/// While the store uses more than `--local-bytes`, evicts long payloads that the bucket has, oldest first. Then it
/// starts again with the oldest. A payload that was fetched again is kept for one more round.
final class EvictionThread: Sendable {
    /// Bytes of payloads that are evicted together, and how many chunks are examined for them.
    private static let stepByteCountMax = 16 << 20
    private static let lookCountMax = 16_384
    /// Eviction continues until the store uses this much less than its limit.
    private static let slackPercent = 5

    private let context: ShardContext
    private let byteCountMax: Int
    private let thread: ServiceThread

    private static let pauseMilliseconds = 1_000
    /// The longest pause after a round without an eviction, in milliseconds. It doubles from one such round to the
    /// next: each sends requests to the bucket.
    private static let fruitlessPauseMillisecondsMax = 30_000
    private static let snapshotPauseMilliseconds = 5

    init(_ context: ShardContext, byteCountMax: Int) throws(SystemError) {
        self.context = context
        self.byteCountMax = byteCountMax
        thread = try ServiceThread()
        try thread.start("blobd-evict") { [self] in run() }
    }

    /// Ends the thread. An eviction in progress continues after the next start.
    func close() { thread.close() }

    private func run() {
        guard let bucket = try? context.access.makeBucket() else { return }
        var failures = FailureLog(context.log)
        var round = Round()
        while !thread.isClosing {
            var pause = Self.pauseMilliseconds
            do {
                // Until then, the bucket is not trusted.
                if context.access.isShardChecked, try step(&round, on: bucket) { pause = 0 }
                if round.isFruitless {
                    pause = round.fruitlessPauseMilliseconds
                    failures.note(
                        .warning, of: "round",
                        "The store exceeds --local-bytes (\(byteCountMax) bytes), but no long payload can be evicted"
                    )
                }
            } catch ReplicationError.stopped {
                // The daemon ends, and other threads take some time for that.
            } catch {
                failures.note(.warning, of: "eviction", "Cannot evict payloads: \(error)")
            }
            if pause > 0 { thread.wait(milliseconds: pause) }
        }
    }

    private struct Round {
        var next: UInt64 = 0
        /// Whether the round evicted anything, or kept something that was fetched.
        var hasFound = false
        /// Whether the whole round found nothing.
        var isFruitless = false
        /// The pause before this round if the previous one found nothing.
        var fruitlessPauseMilliseconds = EvictionThread.pauseMilliseconds
        /// Whether the store is being brought below its limit.
        var isEvicting = false
        /// Whether it ever exceeded it, which is said once.
        var hasBegun = false
    }

    /// Returns whether there may be more to do at once.
    private func step(_ round: inout Round, on bucket: any Bucket) throws -> Bool {
        let store = context.store
        // Completes an eviction that failed, even below the limit: until then, its payloads cannot be fetched again.
        try advance()
        let used = try store.usedByteCount()
        let slack = byteCountMax / 100 * Self.slackPercent
        let wanted = used - (round.isEvicting ? byteCountMax - slack : byteCountMax)
        round.isFruitless = false
        guard wanted > 0 else {
            round.isEvicting = false
            round.fruitlessPauseMilliseconds = Self.pauseMilliseconds
            return false
        }
        if !round.hasBegun {
            round.hasBegun = true
            context.log.notice(
                "The store uses \(used) bytes, more than --local-bytes (\(byteCountMax)): from now on the oldest payloads over 64 KiB that the bucket has are evicted"
            )
        }
        round.isEvicting = true
        let found = try store.evictableBlobs(
            from: round.next, byteCountMax: min(wanted, Self.stepByteCountMax),
            lookingAt: Self.lookCountMax)
        let now = Instant.now
        let candidates = found.blobs.filter {
            guard context.replica.fetches.takeRecentlyFetched($0.number, asOf: now) else {
                return true
            }
            round.hasFound = true
            return false
        }
        let evicted = try evict(
            try LongBlobs.inBucket(candidates, of: store, on: bucket))
        if evicted > 0 { round.hasFound = true }
        if let next = found.next {
            round.next = next
            return true
        }
        let pause =
            round.hasFound
            ? Self.pauseMilliseconds
            : min(2 * round.fruitlessPauseMilliseconds, Self.fruitlessPauseMillisecondsMax)
        round = Round(
            isFruitless: !round.hasFound, fruitlessPauseMilliseconds: pause, isEvicting: true,
            hasBegun: true)
        return evicted > 0
    }

    private func evict(_ blobs: [EvictableBlob]) throws -> Int {
        let store = context.store
        let before = store.evictionCountEver
        guard !blobs.isEmpty else { return store.evictionCountEver - before }
        let count = try context.writer.write { (store) throws(StoreError) in
            try store.beginEvicting(blobs, bootMilliseconds: .bootMilliseconds)
        }
        if count > 0 { try advance() }
        return store.evictionCountEver - before
    }

    private func advance() throws {
        let store = context.store
        while store.isEvicting, !thread.isClosing {
            guard store.canAdvanceEviction else {
                thread.wait(milliseconds: Self.snapshotPauseMilliseconds)
                continue
            }
            _ = try context.writer.write { (store) throws(StoreError) in
                try store.advanceEviction()
            }
        }
    }
}
