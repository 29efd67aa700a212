import BlobStore
import CLinux
import Logging
import Replication

/// The writer's work between batches, in bounded steps.
struct WriterMaintenance {
    private static let sweepCountMax = 128
    private static let freedByteCountMax = 8 << 20
    private static let freedCountMax = 256
    /// About how long free pages are returned to the file system before the writer looks for changes.
    private static let reclaimMicrosecondsMax = 5_000
    /// The pause after that, so that it takes a twentieth of the writer's time.
    private static let reclaimPauseMilliseconds = 100
    /// Free pages that publishes would use within this time are kept.
    private static let reclaimedSecondsAhead = 10
    /// How often the shipped position is written to the store's file while nothing changes.
    private static let shippedSaveMilliseconds = 1_000
    /// The pause after an attempt to fetch a damaged payload.
    private static let repairPauseMilliseconds = 60_000
    /// The same for a short payload: bases and segments are read until it is found.
    private static let repairShortPauseMilliseconds = 3_600_000

    /// Damaged blobs that are named in the log at once.
    private static let namedCountMax = 10

    private let context: DaemonContext
    private var clock = DeletionClock()
    private var nextSweep = Instant.now
    /// Of the limits from which ``nextSweep`` was computed.
    private var generation = 0
    /// What the last step has removed and freed.
    private var removedCount = 0
    private var nextReclaim = Instant.now
    /// The bytes that publishes had added, and when that was recorded.
    private var published = (byteCount: 0, at: Instant.now)
    private var nextSave = Instant.now
    private var healing = HealingPosition()
    private var nextHealing = Instant.now
    private var failures: FailureLog

    init(_ context: DaemonContext) {
        self.context = context
        failures = FailureLog(context.log)
    }

    mutating func isDue(asOf now: Instant) -> Bool {
        // A shorter interval holds at once.
        if let limits = context.limits.takeNew(&generation) {
            nextSweep = min(nextSweep, now.after(milliseconds: limits.sweepMilliseconds))
        }
        return now >= nextSweep
    }

    func pause(asOf now: Instant) -> Int { max(0, nextSweep.milliseconds(since: now) + 1) }

    /// Only throws ``StoreError/outcomeUnknown(_:)``.
    mutating func run(asOf now: Instant) throws(StoreError) {
        nextSweep = now.after(milliseconds: context.limits.now.sweepMilliseconds)
        // Takes milliseconds if bodies had used much memory, and is not repeated before they do so again.
        if context.bodyMemory.takeShouldTrim() { clinux_trim_memory() }
        // The rest is done after a pause as long as this took: changes have half of the writer's time, however many
        // notifications expire at once.
        if try step(asOf: now) {
            let end = Instant.now
            nextSweep = end.after(microseconds: end.microseconds(since: now))
        }
    }

    /// Does one kind of work. What fails does not keep the others from being done.
    private mutating func attempt(
        _ work: String, _ body: (inout Self, BlobStore) throws(StoreError) -> Void
    ) throws(StoreError) {
        do throws(StoreError) {
            try body(&self, context.store)
        } catch {
            if case .outcomeUnknown = error { throw error }
            failures.note(.error, of: work, "Cannot \(work): \(error)")
        }
    }

    /// - Returns: whether there is more to do.
    private mutating func step(asOf now: Instant) throws(StoreError) -> Bool {
        context.replica.look(at: context.store, asOf: now)
        context.replica.fetches.expire(asOf: now)
        var hasMore = false
        context.store.pace(removedCount)
        removedCount = 0
        // A follower only hides expired notifications; its leader removes them.
        if mayDelete(), context.replica.refusal == nil {
            try attempt("remove expired notifications") { (maintenance, store) throws(StoreError) in
                if try maintenance.sweep(store) { hasMore = true }
            }
        }
        try attempt("free blobs without references") { (maintenance, store) throws(StoreError) in
            let freed = try store.freeOrphans(
                byteCountMax: Self.freedByteCountMax, countMax: Self.freedCountMax,
                bootMilliseconds: .bootMilliseconds)
            maintenance.removedCount += freed.blobs
            if freed.more { hasMore = true }
        }
        reportIrremovable()
        try attempt("quarantine damaged payloads") { (_, store) throws(StoreError) in
            try store.quarantineFound(asOf: .now)
        }
        if now >= nextHealing, !context.replica.isFollowing {
            try attempt("replace damaged payloads") { (maintenance, store) throws(StoreError) in
                try maintenance.heal(store, asOf: now)
            }
        }
        repairDamaged(asOf: now)
        if let position = context.scrub.takePosition() {
            try attempt("record the progress of the scrub") { (_, store) throws(StoreError) in
                try store.write(position)
            }
        }
        if context.store.needsScrubber { context.scrub.thread.wake() }
        try attempt("truncate the data file") { (_, store) throws(StoreError) in
            try store.trimFile()
        }
        if now >= nextReclaim {
            try attempt("return free pages to the file system") {
                (maintenance, store) throws(StoreError) in
                try maintenance.reclaim(store, asOf: now)
            }
        }
        if now >= nextSave {
            nextSave = now.after(milliseconds: Self.shippedSaveMilliseconds)
            try attempt("record what was shipped") { (_, store) throws(StoreError) in
                try store.saveShipped()
            }
        }
        context.oldestSnapshot.look(in: context.store)
        return hasMore
    }

    private mutating func reclaim(_ store: BlobStore, asOf now: Instant) throws(StoreError) {
        nextReclaim = now.after(milliseconds: Self.reclaimPauseMilliseconds)
        let reclaimed = try store.reclaimFreePages(
            microsecondsMax: Self.reclaimMicrosecondsMax,
            keeping: takePublishedPerSecond(asOf: now) * Self.reclaimedSecondsAhead)
        if reclaimed.more { nextSweep = min(nextSweep, nextReclaim) }
        if let failure = reclaimed.failure { throw failure }
    }

    /// Names the blobs that freeing and eviction have met in damaged pages, each once.
    private func reportIrremovable() {
        let blobs = context.store.takeIrremovableBlobs()
        for blob in blobs.prefix(Self.namedCountMax) {
            context.log.error(
                "Cannot free blob \(blob.number), and steps over it: \(blob.why). Run blobd verify")
        }
        if blobs.count > Self.namedCountMax {
            context.log.error(
                "Cannot free \(blobs.count - Self.namedCountMax) more damaged blobs")
        }
    }

    /// One step of giving notifications the payloads that were published again, which reads many records: pauses
    /// follow, so that the steps take a twentieth of the writer's time. A follower's leader does it.
    private mutating func heal(_ store: BlobStore, asOf now: Instant) throws(StoreError) {
        let start = Instant.now
        let hasMore = try store.heal(&healing, asOf: .now)
        let microseconds = Instant.now.microseconds(since: start)
        nextHealing = now.after(milliseconds: microseconds * 20 / 1_000)
        if hasMore { nextSweep = min(nextSweep, nextHealing) }
    }

    /// Requests damaged payloads whose bytes are in the bucket. All short ones are searched together.
    private func repairDamaged(asOf now: Instant) {
        let damaged = context.store.quarantinedBlobs
        let fetches = context.replica.fetches
        for one in damaged where one.isInBucket {
            fetches.repair(one.blob, pauseMilliseconds: Self.repairPauseMilliseconds, asOf: now)
        }
        if let short = damaged.first(where: \.isAmongOthers) {
            fetches.repair(
                short.blob, pauseMilliseconds: Self.repairShortPauseMilliseconds, asOf: now)
        }
    }

    private mutating func takePublishedPerSecond(asOf now: Instant) -> Int {
        let last = published
        published = (context.store.publishedByteCount, now)
        let milliseconds = max(1, now.milliseconds(since: last.at))
        return (published.byteCount - last.byteCount) / milliseconds * 1_000
    }

    private mutating func sweep(_ store: BlobStore) throws(StoreError) -> Bool {
        let swept = try store.sweepExpired(asOf: .now, limit: Self.sweepCountMax)
        context.counters.expired.add(swept.expired)
        removedCount += swept.expired
        if swept.damaged > 0 {
            failures.note(
                .error, of: "remove damaged expired notifications",
                "Cannot remove \(swept.damaged) damaged expired notifications; run blobd verify")
        }
        return swept.more
    }

    /// Whether the wall clock is trusted enough to delete by it.
    private mutating func mayDelete() -> Bool {
        switch clock.tick(wall: clinux_wall_ns() / 1_000_000, boot: .bootMilliseconds) {
        case .steady: return true
        case .paused: return false
        case .jumped(let milliseconds):
            context.counters.clockJumps.add()
            context.log.warning(
                "The wall clock jumped by \(milliseconds / 1_000) s against the boot clock; expiry is paused for \(DeletionClock.pauseMilliseconds / 60_000) minutes"
            )
            return false
        }
    }
}
