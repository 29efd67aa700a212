import BlobStore
import Synchronization

/// Evicted blobs that somebody asks for, and damaged ones: each is fetched once, for all who wait for it.
final class BlobFetches: Sendable {
    /// Requests that wait for evicted payloads.
    private static let waiterCountMax = 16_384
    /// How long a request waits for one.
    static let waitMilliseconds = 10_000
    /// How long nobody tries again after a payload could not be fetched.
    static let retryMilliseconds = 1_000
    /// How long a payload that was fetched is not evicted.
    private static let keptMilliseconds = 10_000
    /// Payloads of which it is remembered that they were fetched.
    private static let rememberedCountMax = 65_536

    private struct Waiter {
        let connection: ConnectionAddress
        let end: Instant
    }

    private struct State {
        /// By blob number: who waits for it.
        var waiters: [UInt64: [Waiter]] = [:]
        var waiterCount = 0
        /// Those that nobody fetches yet, in the order in which they were asked for. A slice: its first one is taken
        /// without moving the others.
        var queue: ArraySlice<BlobReference> = []
        /// Numbers of those that are in the queue or being fetched.
        var pending: Set<UInt64> = []
        /// Why a blob could not be fetched, and until when nobody tries again.
        var failures: [UInt64: (why: String, end: Instant)] = [:]
        /// When a damaged blob may be fetched again, if it is damaged still.
        var nextMending: [UInt64: Instant] = [:]
        /// When blobs were fetched that were not long ago.
        var fetched: [UInt64: Instant] = [:]
        /// Threads without work.
        var idle: [Int] = []

        mutating func note(_ why: String, of number: UInt64, asOf now: Instant) {
            if failures.count >= BlobFetches.waiterCountMax { failures = [:] }
            failures[number] = (
                why, now.after(milliseconds: BlobFetches.retryMilliseconds)
            )
        }
    }

    private let state = Mutex(State())
    private let threads: [FetchSignal]
    /// Whether there are waiters or failures to look after.
    private let isBusy = Atomic(false)
    /// Blobs that were fetched, that could not be, and the stored bytes of the first.
    let fetchedCount = Atomic(0)
    let failedCount = Atomic(0)
    let fetchedByteCount = Atomic(0)

    private final class FetchSignal: Sendable {
        let signal: WakeSignal
        init() throws(SystemError) { signal = try WakeSignal() }
    }

    /// - Parameter threadCount: how many threads will fetch; 0: nobody does.
    init(threadCount: Int) throws(SystemError) {
        var threads: [FetchSignal] = []
        for _ in 0..<threadCount { threads.append(try FetchSignal()) }
        self.threads = threads
    }

    /// How many threads are to fetch.
    var threadCount: Int { threads.count }

    /// Threads that the next payload can wake.
    var idleThreadCount: Int { state.withLock { $0.idle.count } }

    /// How many payloads are not asked for again yet.
    var failureCount: Int { state.withLock { $0.failures.count } }

    // MARK: - Who asks

    /// Why a blob cannot be fetched now; nil: ``want(_:for:asOf:)`` it.
    func refusal(of blob: BlobReference, asOf now: Instant) -> String? {
        guard threadCount > 0 else {
            return "its bytes are in the bucket, and this daemon does not fetch any (--local-bytes)"
        }
        return state.withLock { state in
            if let failure = state.failures[blob.number] {
                if now < failure.end { return failure.why }
                state.failures[blob.number] = nil
            }
            guard state.waiterCount < Self.waiterCountMax else {
                return "\(state.waiterCount) requests wait for payloads from the bucket"
            }
            return nil
        }
    }

    /// Has a connection wait until a blob was fetched, or could not be.
    func want(_ blob: BlobReference, for connection: ConnectionAddress, asOf now: Instant) {
        let end = now.after(milliseconds: Self.waitMilliseconds)
        let thread: Int? = state.withLock { state in
            state.waiterCount += 1
            state.waiters[blob.number, default: []].append(
                Waiter(connection: connection, end: end))
            isBusy.store(true, ordering: .relaxed)
            guard state.pending.insert(blob.number).inserted else { return nil }
            state.queue.append(blob)
            return state.idle.popLast()
        }
        if let thread { threads[thread].signal.notify() }
    }

    /// Has a damaged blob fetched, whether or not somebody asks for it. Nothing happens where that was tried
    /// a moment ago.
    ///
    /// - Parameter pauseMilliseconds: after this attempt.
    func mend(_ blob: BlobReference, pauseMilliseconds: Int, asOf now: Instant) {
        guard threadCount > 0 else { return }
        let thread: Int? = state.withLock { state in
            guard !state.pending.contains(blob.number),
                state.nextMending[blob.number].map({ $0 <= now }) ?? true
            else { return nil }
            if state.nextMending.count >= Self.rememberedCountMax {
                state.nextMending = [:]
            }
            state.nextMending[blob.number] = now.after(milliseconds: pauseMilliseconds)
            // Who asks for it meanwhile waits for this fetch.
            state.waiters[blob.number, default: []] += []
            state.pending.insert(blob.number)
            state.queue.append(blob)
            return state.idle.popLast()
        }
        if let thread { threads[thread].signal.notify() }
    }

    /// Ends the waiting of those who have waited long enough, who are told why, and forgets failures that are over.
    func expire(asOf now: Instant) {
        guard isBusy.load(ordering: .relaxed) else { return }
        let late = state.withLock { state in
            var late: [Waiter] = []
            state.failures = state.failures.filter { now < $0.value.end }
            for (number, waiters) in state.waiters {
                let ended = waiters.filter { $0.end <= now }
                guard !ended.isEmpty else { continue }
                late += ended
                let rest = waiters.filter { $0.end > now }
                state.waiters[number] = rest.isEmpty ? nil : rest
                state.waiterCount -= ended.count
                state.note(
                    "the bucket has not sent it within \(Self.waitMilliseconds / 1_000) s",
                    of: number, asOf: now)
            }
            isBusy.store(!state.waiters.isEmpty || !state.failures.isEmpty, ordering: .relaxed)
            return late
        }
        Self.tell(late, .committed)
    }

    /// Ends all waiting: the daemon stops.
    func failAll(_ result: ChangeResult) {
        let all = state.withLock { state in
            defer {
                state.waiters = [:]
                state.waiterCount = 0
                state.queue = []
                state.pending = []
            }
            return state.waiters.values.flatMap { $0 }
        }
        Self.tell(all, result)
    }

    private static func tell(_ waiters: [Waiter], _ result: ChangeResult) {
        var inboxes = InboxWakes()
        for waiter in waiters { inboxes.leave(.replicated(result), for: waiter.connection) }
        inboxes.wakeAll()
    }

    // MARK: - Who fetches

    /// The next blob to fetch that somebody still waits for. Where there is none the thread waits for one, at most a
    /// second.
    func next(thread: Int) -> BlobReference? {
        let found = state.withLock { state -> BlobReference? in
            while let blob = state.queue.popFirst() {
                if state.waiters[blob.number] != nil {
                    // Woken by nobody it is among the idle ones still, and the next blob would wait for it.
                    state.idle.removeAll { $0 == thread }
                    return blob
                }
                state.pending.remove(blob.number)
            }
            if !state.idle.contains(thread) { state.idle.append(thread) }
            return nil
        }
        if found == nil { threads[thread].signal.wait(milliseconds: 1_000) }
        return found
    }

    /// Wakes all threads.
    func wakeAll() { for thread in threads { thread.signal.notify() } }

    /// A blob was fetched, or could not be.
    ///
    /// - Parameter failure: why not.
    func finish(_ blob: BlobReference, _ failure: String?, asOf now: Instant) {
        let waiters = state.withLock { state in
            let waiters = state.waiters.removeValue(forKey: blob.number) ?? []
            state.waiterCount -= waiters.count
            state.pending.remove(blob.number)
            if let failure {
                state.note(failure, of: blob.number, asOf: now)
                isBusy.store(true, ordering: .relaxed)
            } else {
                if state.fetched.count >= Self.rememberedCountMax { state.fetched = [:] }
                state.fetched[blob.number] = now
            }
            return waiters
        }
        if failure == nil {
            fetchedCount.add(1, ordering: .relaxed)
            fetchedByteCount.add(blob.storedByteCount, ordering: .relaxed)
        } else {
            failedCount.add(1, ordering: .relaxed)
        }
        Self.tell(waiters, .committed)
    }

    // MARK: - Who evicts

    /// Whether a blob was fetched since this was asked last: it stays for another round. One that is a few
    /// seconds here stays anyway.
    func takeRecentlyFetched(_ number: UInt64, asOf now: Instant) -> Bool {
        state.withLock { state in
            guard let moment = state.fetched[number] else { return false }
            if now.milliseconds(since: moment) > Self.keptMilliseconds {
                state.fetched[number] = nil
            }
            return true
        }
    }
}
