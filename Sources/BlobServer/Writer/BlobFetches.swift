import BlobStore
import Synchronization

/// Evicted blobs that are requested, and damaged ones. Each is fetched once for all connections that wait for it.
final class BlobFetches: Sendable {
    private static let waiterCountMax = 16_384
    /// How long a request waits for a blob.
    static let waitMilliseconds = 10_000
    /// How long a payload that could not be fetched is not tried again.
    static let retryMilliseconds = 1_000
    /// How long a fetched payload is not evicted.
    private static let keptMilliseconds = 10_000
    private static let rememberedCountMax = 65_536

    private struct Waiter {
        let connection: ConnectionAddress
        let end: Instant
    }

    /// A blob that is queued or being fetched.
    private struct Pending {
        var waiters: [Waiter] = []
        /// Whether it is damaged, and so fetched even if no request waits for it.
        var isMended = false
    }

    private struct State {
        var pending: [UInt64: Pending] = [:]
        var waiterCount = 0
        /// A slice: removing its first element moves no others.
        var queue: ArraySlice<BlobReference> = []
        /// Why a blob could not be fetched, and until when it is not tried again.
        var failures: [UInt64: (why: String, end: Instant)] = [:]
        /// When a damaged blob may be fetched again, if it is still damaged.
        var nextMending: [UInt64: Instant] = [:]
        /// When blobs were fetched, if that was recently.
        var fetched: [UInt64: Instant] = [:]

        mutating func note(_ why: String, of number: UInt64, asOf now: Instant) {
            if failures.count >= BlobFetches.waiterCountMax { failures = [:] }
            failures[number] = (why, now.after(milliseconds: BlobFetches.retryMilliseconds))
        }

        mutating func enqueue(_ blob: BlobReference) {
            guard pending[blob.number] == nil else { return }
            pending[blob.number] = Pending()
            queue.append(blob)
        }
    }

    private let state = Mutex(State())
    /// The fetching threads, ``threadCount`` of them.
    let threads: ServiceThread
    /// 0: nothing is fetched.
    let threadCount: Int
    private let isBusy = Atomic(false)
    /// Blobs that were fetched, those that could not be, and the stored bytes of the former.
    let fetchedCount = Atomic(0)
    let failedCount = Atomic(0)
    let fetchedByteCount = Atomic(0)

    init(threadCount: Int) throws(SystemError) {
        self.threadCount = threadCount
        threads = try ServiceThread()
    }

    var failureCount: Int { state.withLock { $0.failures.count } }

    /// Why a blob cannot be fetched now; nil: ``want(_:for:asOf:)`` it.
    func refusal(of blob: BlobReference, asOf now: Instant) -> String? {
        guard threadCount > 0 else {
            return
                "its bytes are only in the bucket, and this daemon does not fetch payloads (--local-bytes)"
        }
        return state.withLock { state in
            if let failure = state.failures[blob.number] {
                if now < failure.end { return failure.why }
                state.failures[blob.number] = nil
            }
            guard state.waiterCount < Self.waiterCountMax else {
                return
                    "\(state.waiterCount) requests are already waiting for payloads from the bucket"
            }
            return nil
        }
    }

    /// Makes a connection wait until a blob was fetched, or could not be.
    func want(_ blob: BlobReference, for connection: ConnectionAddress, asOf now: Instant) {
        let end = now.after(milliseconds: Self.waitMilliseconds)
        state.withLock { state in
            state.enqueue(blob)
            state.pending[blob.number]?.waiters.append(Waiter(connection: connection, end: end))
            state.waiterCount += 1
            isBusy.store(true, ordering: .relaxed)
        }
        threads.wake()
    }

    /// Fetches a damaged blob, unless that was tried recently.
    func repair(_ blob: BlobReference, pauseMilliseconds: Int, asOf now: Instant) {
        guard threadCount > 0 else { return }
        let isQueued = state.withLock { state in
            guard state.pending[blob.number] == nil,
                state.nextMending[blob.number].map({ $0 <= now }) ?? true
            else { return false }
            if state.nextMending.count >= Self.rememberedCountMax {
                state.nextMending = [:]
            }
            state.nextMending[blob.number] = now.after(milliseconds: pauseMilliseconds)
            state.enqueue(blob)
            state.pending[blob.number]?.isMended = true
            return true
        }
        if isQueued { threads.wake() }
    }

    /// Answers requests that have waited too long with the reason, and forgets failures that are over.
    func expire(asOf now: Instant) {
        guard isBusy.load(ordering: .relaxed) else { return }
        let late = state.withLock { state in
            var late: [Waiter] = []
            state.failures = state.failures.filter { now < $0.value.end }
            for number in state.pending.keys {
                guard var waiters = state.pending[number]?.waiters,
                    waiters.contains(where: { $0.end <= now })
                else { continue }
                late += waiters.filter { $0.end <= now }
                waiters.removeAll { $0.end <= now }
                state.pending[number]?.waiters = waiters
                state.note(
                    "the bucket has not sent it within \(Self.waitMilliseconds / 1_000) s",
                    of: number, asOf: now)
            }
            state.waiterCount -= late.count
            isBusy.store(
                state.waiterCount > 0 || !state.failures.isEmpty, ordering: .relaxed)
            return late
        }
        Self.tell(late, .committed)
    }

    func failAll(_ result: ChangeResult) {
        let all = state.withLock { state in
            defer { (state.pending, state.queue, state.waiterCount) = ([:], [], 0) }
            return state.pending.values.flatMap(\.waiters)
        }
        Self.tell(all, result)
    }

    private static func tell(_ waiters: [Waiter], _ result: ChangeResult) {
        InboxWakes.post(waiters.map { ($0.connection, .replicated(result)) })
    }

    /// One signal wakes one thread, which wakes the next if there are more blobs.
    func next() -> BlobReference? {
        let (found, hasMore) = state.withLock { state -> (BlobReference?, Bool) in
            while let blob = state.queue.popFirst() {
                if let pending = state.pending[blob.number],
                    pending.isMended || !pending.waiters.isEmpty
                {
                    return (blob, !state.queue.isEmpty)
                }
                state.pending[blob.number] = nil
            }
            return (nil, false)
        }
        if hasMore { threads.wake() }
        return found
    }

    func finish(_ blob: BlobReference, _ failure: String?, asOf now: Instant) {
        let waiters = state.withLock { state in
            let waiters = state.pending.removeValue(forKey: blob.number)?.waiters ?? []
            state.waiterCount -= waiters.count
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

    /// Whether a blob was fetched recently. If so, it is kept for one more round.
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
