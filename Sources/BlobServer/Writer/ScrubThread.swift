import BlobStore
import CLinux
import Glibc
import Logging

extension ScrubState {
    /// Starts the thread that reads the store again, and handles damage that readers have met: see `Scrubber`.
    func start(_ context: DaemonContext) throws(SystemError) {
        try thread.start("blobd-scrub") { [self] in
            clinux_idle_priority()
            do throws(StoreError) {
                var loop = ScrubLoop(context, try context.store.makeScrubber(), self)
                loop.run()
            } catch {
                context.log.error("Cannot scrub the store: \(error)")
            }
        }
    }
}

/// A round takes at most half of ``DaemonLimits/scrubDays``, and pauses while the daemon is busy, unless it is late. A
/// requested round never pauses.
private struct ScrubLoop {
    private static let delayMilliseconds = 300_000
    private static let writeMilliseconds = 600_000
    /// How long it pauses while the daemon is busy, before it checks again.
    private static let loadedMilliseconds = 250
    private static let stepByteCount = 64 << 10
    /// The lowest rate, in bytes per second: a small store is finished early.
    private static let rateMin = 256 << 10
    /// Notifications named in the log for a damaged payload.
    private static let reportedIDCountMax = 10
    /// How long to wait until the writer has recorded what is damaged.
    private static let noteMilliseconds = 10_000
    /// Waits are limited to an hour, because the wall clock may be set meanwhile.
    private static let pauseMillisecondsMax = 3_600_000

    private let store: BlobStore
    private var scrubber: Scrubber
    private var isRunningRequest = false
    private let state: ScrubState
    private let limits: LiveLimits
    private let log: Logger
    private var meter = LoadMeter()
    /// The earliest time after the start when a round may begin or continue.
    private let start = Instant.now.after(milliseconds: Self.delayMilliseconds)
    private var nextWrite = Instant.now.after(milliseconds: Self.writeMilliseconds)
    private var byteCountInAll = 0
    private var recent = (instant: Instant.now, byteCount: 0)
    private var rate = 0
    private var errorLog: RateLimitedLog

    init(_ context: DaemonContext, _ scrubber: Scrubber, _ state: ScrubState) {
        store = context.store
        self.scrubber = scrubber
        self.state = state
        limits = context.limits
        log = context.log
        errorLog = RateLimitedLog(log)
    }

    mutating func run() {
        note()
        while !state.thread.isClosing {
            do throws(StoreError) {
                try report()
                let pause = try advance()
                if pause != 0 { state.thread.wait(milliseconds: pause) }
            } catch {
                errorLog.note(.error, "Cannot scrub the store: \(error)")
                state.thread.wait(milliseconds: 1_000)
            }
        }
        if scrubber.position.beganAt != nil { state.write(scrubber.position) }
    }

    /// Checks payloads that readers suspect, and logs what was quarantined.
    private mutating func report() throws(StoreError) {
        guard store.needsScrubber else { return }
        try scrubber.checkSuspects()
        for blob in store.takeUnreportedQuarantine() {
            let shown = Self.reportedIDCountMax
            let ids = try scrubber.ids(referringTo: blob.blob.number, countMax: shown)
            let others = blob.referenceCount - ids.count
            let rest = others > 0 ? " and \(others) more" : ""
            let remedy =
                blob.isInBucket || blob.isAmongOthers
                ? "It is fetched from the bucket again"
                : "Publish the same bytes again to repair it"
            log.error(
                "Quarantined \(blob.digest) of \(blob.byteCount) bytes: stored bytes are damaged. It belongs to \(ids.joined(separator: ", "))\(rest). \(remedy)"
            )
        }
    }

    /// Returns how long to wait, in milliseconds; negative: until there is something to do.
    private mutating func advance() throws(StoreError) -> Int {
        let isRequested = state.isRequested
        let now = Instant.now
        if scrubber.position.beganAt == nil || (isRequested && !isRunningRequest) {
            let pause = isRequested ? 0 : pauseBeforeRound(asOf: now)
            guard pause == 0 else { return pause }
            scrubber.begin(asOf: .now)
            isRunningRequest = isRequested
            byteCountInAll = 0
        }
        if byteCountInAll == 0 {
            // For a new round, or for one that an earlier run began.
            byteCountInAll = try store.usedByteCount()
            note()
        }
        if !isRunningRequest, let pause = pauseInRound(asOf: now) { return pause }
        let byteCount = try scrubber.step(byteCountMax: Self.stepByteCount, asOf: .now)
        for finding in scrubber.takeFindings() {
            log.error("Damaged: \(finding). Run blobd verify")
        }
        guard let byteCount else {
            try endRound()
            return 0
        }
        count(byteCount)
        if now >= nextWrite {
            nextWrite = now.after(milliseconds: Self.writeMilliseconds)
            state.write(scrubber.position)
        }
        return isRunningRequest ? 0 : max(1, byteCount * 1_000 / pace)
    }

    private mutating func endRound() throws(StoreError) {
        // Findings are recorded before the round counts as ended, unless the writer cannot.
        let end = Instant.now.after(milliseconds: Self.noteMilliseconds)
        while store.hasConfirmedDamage, !state.thread.isClosing, Instant.now < end {
            state.thread.wait(milliseconds: 20)
        }
        try report()
        if isRunningRequest {
            isRunningRequest = false
            state.endRequest()
        }
        rate = 0
        state.write(scrubber.position)
        note()
        log.info("Scrubbed the store: \(scrubber.position.byteCount) bytes")
    }

    /// The time in which everything must be read, in milliseconds; 0: never.
    private var scrubMilliseconds: Int { limits.now.scrubDays * 86_400_000 }

    /// How long until the next round may begin: half of that time after the end of the last one. 0: now.
    private func pauseBeforeRound(asOf now: Instant) -> Int {
        guard scrubMilliseconds > 0 else { return -1 }
        var pause = start.milliseconds(since: now)
        if let ended = scrubber.position.endedAt {
            let elapsed = Int(clamping: Timestamp.now.milliseconds - ended.milliseconds)
            // So that a clock that was set back delays nothing for longer.
            pause = max(pause, min(scrubMilliseconds / 2, scrubMilliseconds / 2 - elapsed))
        }
        return pause <= 0 ? 0 : min(pause + 1, Self.pauseMillisecondsMax)
    }

    /// How long a round that was not requested waits now; nil: it does not.
    private mutating func pauseInRound(asOf now: Instant) -> Int? {
        guard scrubMilliseconds > 0 else { return -1 }
        if now < start { return start.milliseconds(since: now) + 1 }
        guard meter.isLoaded(asOf: now), !isLate else { return nil }
        rate = 0
        note()
        return Self.loadedMilliseconds
    }

    private var pace: Int {
        let whole = byteCountInAll / max(1, scrubMilliseconds / 4_000)
        return max(Self.rateMin, whole)
    }

    /// Whether the round has read less than it should have by now.
    private var isLate: Bool {
        guard let began = scrubber.position.beganAt, scrubMilliseconds > 0 else { return false }
        let elapsed = Double(Timestamp.now.milliseconds - began.milliseconds)
        let share = Double(scrubber.position.byteCount) / Double(max(1, byteCountInAll))
        return elapsed * 2 / Double(scrubMilliseconds) > share + 0.01
    }

    private mutating func count(_ byteCount: Int) {
        recent.byteCount += byteCount
        let now = Instant.now
        let elapsed = now.milliseconds(since: recent.instant)
        if elapsed >= 1_000 {
            rate = recent.byteCount * 1_000 / elapsed
            recent = (now, 0)
        }
        note()
    }

    private func note() {
        let position = scrubber.position
        state.note(
            ScrubState.Progress(
                beganAt: position.beganAt, endedAt: position.endedAt,
                byteCount: position.byteCount,
                byteCountInAll: max(byteCountInAll, position.byteCount), rate: rate))
    }
}

/// Whether the other threads of this process are busy.
struct LoadMeter {
    /// More than this share of one processor counts as busy, in percent.
    static let percentMax = 20

    private var last: (instant: Instant, microseconds: Int)?

    mutating func isLoaded(asOf now: Instant) -> Bool {
        let used = Self.microsecondsOfOthers
        defer { last = (now, used) }
        guard let last else { return false }
        let elapsed = now.microseconds(since: last.instant)
        return elapsed > 0 && (used - last.microseconds) * 100 > elapsed * Self.percentMax
    }

    /// `RUSAGE_THREAD`, which only Linux defines.
    private static let thread: Int32 = 1

    private static var microsecondsOfOthers: Int {
        microseconds(RUSAGE_SELF.rawValue) - microseconds(Self.thread)
    }

    private static func microseconds(_ who: Int32) -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(who), &usage)
        return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
            + Int(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    }
}
