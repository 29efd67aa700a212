import BlobStore
import CLinux
import Glibc
import Logging

/// The thread that reads the store again, and looks after damage that others have met: see `Scrubber`.
///
/// A round takes at most half of ``DaemonLimits/scrubDays``, and waits while the daemon is busy, unless it
/// is late. One that was asked for (`POST /v1/scrub`) waits for nothing.
struct ScrubThread: Sendable {
    private let state: ScrubState

    init(
        _ store: BlobStore, _ state: ScrubState, limits: LiveLimits, log: Logger
    ) throws(SystemError) {
        self.state = state
        try state.thread.start("blobd-scrub") {
            clinux_idle_priority()
            do throws(StoreError) {
                var loop = ScrubLoop(
                    store, try store.makeScrubber(), state, limits: limits, log: log)
                loop.run()
            } catch {
                log.error("Cannot scrub the store: \(error)")
            }
        }
    }

    /// Ends it after the step that it is in. Its position is left for the writer.
    func close() { state.thread.close() }
}

private struct ScrubLoop {
    /// How long after the start a round begins or continues.
    private static let delayMilliseconds = 300_000
    /// How often the position is stored.
    private static let writeMilliseconds = 600_000
    /// How long it waits while the daemon is busy, before it looks again.
    private static let loadedMilliseconds = 250
    /// Bytes of one step, about.
    private static let stepByteCount = 64 << 10
    /// The least rate, in bytes per second: a small store is done soon, and rests.
    private static let rateMin = 256 << 10
    /// Notifications that are named when one of their payloads is found damaged.
    private static let reportedIDCountMax = 10
    /// How long it waits until the writer has noted what is damaged.
    private static let noteMilliseconds = 10_000

    private let store: BlobStore
    private var scrubber: Scrubber
    private let state: ScrubState
    private let limits: LiveLimits
    private let log: Logger
    private var meter = LoadMeter()
    /// When a round may begin or go on after the start.
    private let start = Instant.now.after(milliseconds: Self.delayMilliseconds)
    private var nextWrite = Instant.now.after(milliseconds: Self.writeMilliseconds)
    private var byteCountInAll = 0
    /// Bytes since the rate was computed.
    private var recent = (instant: Instant.now, byteCount: 0)
    private var rate = 0
    private var errorLog: RateLimitedLog

    init(
        _ store: BlobStore, _ scrubber: Scrubber, _ state: ScrubState, limits: LiveLimits,
        log: Logger
    ) {
        self.store = store
        self.scrubber = scrubber
        self.state = state
        self.limits = limits
        self.log = log
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

    /// Looks at what readers have met, and logs what was quarantined.
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
                ? "It is fetched from the bucket again" : "Publish the same bytes again to heal it"
            log.error(
                "Quarantined \(blob.digest) of \(blob.byteCount) bytes: stored bytes are damaged. It belongs to \(ids.joined(separator: ", "))\(rest). \(remedy)"
            )
        }
    }

    /// Does what is due.
    ///
    /// - Returns: how long to wait then, in milliseconds; negative: until there is something to do.
    private mutating func advance() throws(StoreError) -> Int {
        let isRequested = state.isRequested
        let now = Instant.now
        if scrubber.position.beganAt == nil || (isRequested && !isRunningRequest) {
            guard isRequested || mayBegin(asOf: now) else { return pauseBeforeRound(asOf: now) }
            scrubber.begin(asOf: .now)
            isRunningRequest = isRequested
            byteCountInAll = try store.usedByteCount()
            note()
        } else if byteCountInAll == 0 {
            // Of a round that an earlier run began.
            byteCountInAll = try store.usedByteCount()
        }
        if !isRunningRequest {
            guard scrubMilliseconds > 0 else { return -1 }
            if now < start { return start.milliseconds(since: now) + 1 }
            if meter.isLoaded(asOf: now), !isLate {
                rate = 0
                note()
                return Self.loadedMilliseconds
            }
        }
        let byteCount = try scrubber.step(
            byteCountMax: Self.stepByteCount, asOf: .now)
        for finding in scrubber.takeFindings() {
            log.error("Damaged: \(finding). Run blobd verify")
        }
        guard let byteCount else {
            // What was found is noted before the round counts as ended, unless the writer cannot.
            let patience = Instant.now.after(milliseconds: Self.noteMilliseconds)
            while store.hasConfirmedDamage, !state.thread.isClosing, Instant.now < patience {
                state.thread.wait(milliseconds: 20)
            }
            try report()
            endRound()
            return 0
        }
        count(byteCount)
        if now >= nextWrite {
            nextWrite = now.after(milliseconds: Self.writeMilliseconds)
            state.write(scrubber.position)
        }
        return isRunningRequest ? 0 : max(1, byteCount * 1_000 / pace)
    }

    /// Whether the present round is one that was asked for.
    private var isRunningRequest = false

    private mutating func endRound() {
        if isRunningRequest {
            isRunningRequest = false
            state.endRequest()
        }
        rate = 0
        state.write(scrubber.position)
        note()
        log.info("Scrubbed the store: \(scrubber.position.byteCount) bytes")
    }

    // MARK: - When

    /// In how many milliseconds everything is to be read; 0: never.
    private var scrubMilliseconds: Int { limits.now.scrubDays * 86_400_000 }

    private func mayBegin(asOf now: Instant) -> Bool {
        scrubMilliseconds > 0 && now >= start && millisecondsToRound <= 0
    }

    /// Until the next round begins: half of the time after the last one has ended.
    private var millisecondsToRound: Int {
        guard let ended = scrubber.position.endedAt else { return 0 }
        let elapsed = Int(clamping: Timestamp.now.milliseconds - ended.milliseconds)
        // A clock that was set back puts off nothing for longer than that.
        return min(scrubMilliseconds / 2, scrubMilliseconds / 2 - elapsed)
    }

    private func pauseBeforeRound(asOf now: Instant) -> Int {
        guard scrubMilliseconds > 0 else { return -1 }
        return min(
            max(start.milliseconds(since: now), millisecondsToRound) + 1, Self.pauseMillisecondsMax)
    }

    /// Waits are cut to an hour: the wall clock may be set meanwhile.
    private static let pauseMillisecondsMax = 3_600_000

    /// Bytes per second.
    private var pace: Int {
        let whole = byteCountInAll / max(1, scrubMilliseconds / 4_000)
        return max(Self.rateMin, whole)
    }

    /// Whether the round has read less than its time allows.
    private var isLate: Bool {
        guard let began = scrubber.position.beganAt, scrubMilliseconds > 0 else { return false }
        let elapsed = Double(Timestamp.now.milliseconds - began.milliseconds)
        let share = Double(scrubber.position.byteCount) / Double(max(1, byteCountInAll))
        return elapsed * 2 / Double(scrubMilliseconds) > share + 0.01
    }

    // MARK: - Figures

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

/// Whether the other threads of this process are busy: by the processor time that they have used since they
/// were asked about last.
struct LoadMeter {
    /// Busier than this share of one processor is loaded, in percent.
    static let percentMax = 20

    private var last: (instant: Instant, microseconds: Int)?

    /// Whether they were busy since the last call.
    mutating func isLoaded(asOf now: Instant) -> Bool {
        let used = Self.microsecondsOfOthers
        defer { last = (now, used) }
        guard let last else { return false }
        let elapsed = now.microseconds(since: last.instant)
        return elapsed > 0 && (used - last.microseconds) * 100 > elapsed * Self.percentMax
    }

    /// `RUSAGE_THREAD`, which only Linux has.
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
