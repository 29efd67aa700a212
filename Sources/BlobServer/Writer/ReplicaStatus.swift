import BlobProtocol
import BlobStore
import ObjectStore
import Replication
import Synchronization

/// The state of replication for all threads, and the connections that wait for it.
final class ReplicaStatus: Sendable {
    /// The most requests that may wait for the bucket, or for a follower to catch up.
    static let waiterCountMax = 65_536

    enum Role: UInt8, AtomicRepresentable {
        case alone = 0
        case leader = 1
        case follower = 2
        /// Accepts no changes for a moment: the lead is changing.
        case changing = 3

        var name: String { "\(self)" }

        init(of state: ReplicationState?) {
            switch state?.role {
            case nil: self = .alone
            case .leader: self = .leader
            case .follower, .deposed: self = .follower
            }
        }
    }

    struct Waiter {
        /// A segment that must be in the log: none, one that is not begun yet, or the one that was begun last.
        enum Segment { case none, next, begun }

        /// The store's batches that have what it waits for.
        let batches: BatchSpan
        let connection: ConnectionAddress
        /// The answer; nil: the connection may continue.
        let result: ChangeResult?
        let end: Instant
        var segment = Segment.none

        func isFulfilled(by sequence: UInt64) -> Bool {
            batches.last <= sequence && segment == .none
        }
    }

    struct Promotion: PromotionRequest {
        let isForced: Bool
        let connection: ConnectionAddress
        let askedAt = Instant.now

        func succeed(epoch: UInt64) { connection.post(.replicated(.promoted(epoch: epoch))) }

        func refuse(_ why: String) {
            connection.post(.replicated(.refused(ProtocolError(.unavailable, why))))
        }
    }

    let options: ReplicaOptions
    private let currentRole: Atomic<Role>
    private let isBlocked = Atomic(false)
    private let leaderName = Mutex("")
    private let waiters = Mutex<[Waiter]>([])
    private let waiterCount = Atomic(0)
    /// Batches that refer to a payload which is lost, in order, and what is said of them.
    private let lost = Mutex<[(sequence: UInt64, error: ProtocolError)]>([])
    /// Up to which batch waits are fulfilled, and when they were looked at.
    private let reachedSequence = Atomic<UInt64>(0)
    private let completedAt = Atomic<Int64>(0)
    /// How long waits that have taken too long go on without a look.
    private static let expiryNanoseconds: Int64 = 500_000_000
    private let promotion = Mutex<Promotion?>(nil)
    /// The epoch in which this daemon ships; 0: it does not.
    let leadingEpoch = Atomic<UInt64>(0)
    /// The epoch of which this daemon says that its leader is alive; 0: of none.
    let aliveEpoch = Atomic<UInt64>(0)
    /// Whether what it ships or applies gets on.
    let progress = ReplicaProgress()
    /// Whether bucket maintenance waits for another name of the log.
    let wantsSegment = Atomic(false)
    /// Signalled when it is known whether this daemon leads, or that the bucket cannot tell.
    private let started: WakeSignal
    /// About when the oldest change that is not in the bucket was acknowledged; 0: all are.
    let unshippedSince = Atomic<Int64>(0)
    private let unshippedAge = Mutex(UnshippedAge())
    /// When anything was last shipped or applied.
    let movedAt = Atomic<Int64>(0)
    /// Counts requests to the bucket; nil: there is no bucket.
    let bucketCounters: ObjectStoreCounters?
    /// Unusable bases in the bucket, counted by a leader.
    let damagedBaseCount = Atomic(0)
    /// What this daemon cannot do in its shard at present, for people: ship or follow, and look after the bucket.
    let problems = Mutex<(replica: String?, bucket: String?)>((nil, nil))
    var problem: String? {
        let (replica, bucket) = problems.withLock { $0 }
        let all = [replica, bucket].compactMap(\.self)
        return all.isEmpty ? nil : all.joined(separator: "; ")
    }
    let fetches: BlobFetches
    /// What this daemon lacks while it follows, and looks for; nil: it does not follow.
    let ungiven = Mutex<UngivenPayloads?>(nil)
    /// Wakes the thread that ships or follows.
    let signal: WakeSignal

    init(
        _ options: ReplicaOptions, role: Role, counters: ObjectStoreCounters?,
        fetchThreadCount: Int = 0
    ) throws(SystemError) {
        fetches = try BlobFetches(threadCount: fetchThreadCount)
        bucketCounters = counters
        self.options = options
        currentRole = Atomic(role)
        signal = try WakeSignal()
        started = try WakeSignal()
        // A follower that has found nothing since its start lags, too.
        movedAt.store(Instant.now.nanoseconds, ordering: .relaxed)
    }

    func noteStarted() { started.notify() }

    /// Waits until it is known whether this daemon leads, but not longer than clients can be kept waiting.
    func waitForStart() { started.wait(milliseconds: ReplicationLimits.startMilliseconds) }

    /// Costs one load.
    var role: Role {
        get { currentRole.load(ordering: .relaxed) }
        set { currentRole.store(newValue, ordering: .releasing) }
    }

    /// Whether only a leader's shipped changes are applied to the store. Costs one load.
    var isFollowing: Bool { role == .follower || role == .changing }

    var leader: String {
        get { leaderName.withLock { $0 } }
        set { leaderName.withLock { $0 = newValue } }
    }

    /// Whom to ask for what this daemon does not have. One that calls itself the leader may be so no more.
    var leaderToAsk: String {
        let leader = leader
        return leader.isEmpty || !isFollowing ? "the leader" : leader
    }

    /// Why no change is accepted now; nil: changes are accepted.
    var refusal: ProtocolError? {
        switch role {
        case .alone: return nil
        case .leader:
            guard isBlocked.load(ordering: .relaxed) else { return nil }
            return ProtocolError(
                .unreplicated,
                "more than \(options.unreplicatedMillisecondsMax / 1_000) s or \(options.unreplicatedByteCountMax) bytes of changes are not in the bucket (--max-unreplicated, --max-unreplicated-bytes); try again"
            )
        case .follower:
            return ProtocolError(
                .follower,
                "this daemon follows \(leader.isEmpty ? "another one" : leader): send the change there"
            )
        case .changing:
            return ProtocolError(.follower, "the leader is changing; try again")
        }
    }

    /// Updates whether changes are refused, and ends waits that have taken too long: a step of the thread that ships may
    /// take long, and others look meanwhile.
    func look(at store: BlobStore, asOf now: Instant) {
        updateBlock(store, asOf: now)
        refuseLatePromotion(asOf: now)
        if now.nanoseconds - completedAt.load(ordering: .relaxed) >= Self.expiryNanoseconds {
            complete(upTo: reachedSequence.load(ordering: .relaxed), asOf: now)
        }
    }

    /// Updates whether changes are refused, and then ends waits: a client that gets its answer may send the next change
    /// at once.
    func complete(upTo sequence: UInt64, lookingAt store: BlobStore, asOf now: Instant) {
        updateBlock(store, asOf: now)
        complete(upTo: sequence, asOf: now)
    }

    private func updateBlock(_ store: BlobStore, asOf now: Instant) {
        guard role == .leader else { return }
        let since = unshippedAge.withLock { age in
            let shipped = store.shippedSequence
            let since = age.look(
                last: store.lastSequence, shipped: shipped, now: now.nanoseconds
            ) {
                // Changes of an earlier run.
                let batches = try? store.outbox(after: shipped, byteCountMax: 0)
                guard let time = batches?.first?.time else { return 0 }
                return max(0, Timestamp.now.milliseconds - time.milliseconds) * 1_000_000
            }
            unshippedSince.store(since, ordering: .relaxed)
            return since
        }
        let age = since == 0 ? 0 : (now.nanoseconds - since) / 1_000_000
        isBlocked.store(
            age > Int64(options.unreplicatedMillisecondsMax)
                || store.unshippedByteCount > options.unreplicatedByteCountMax,
            ordering: .relaxed)
    }

    /// For a leader, the age of its oldest change that is not in the bucket; for a follower, the time since it last
    /// found something.
    func lagMilliseconds(asOf now: Instant) -> Int {
        let since: Int64
        switch role {
        case .alone: return 0
        case .leader: since = unshippedSince.load(ordering: .relaxed)
        case .follower, .changing: since = movedAt.load(ordering: .relaxed)
        }
        return since == 0 ? 0 : Int(max(0, now.nanoseconds - since) / 1_000_000)
    }

    /// Whether a request waits for the bucket. Costs one load.
    var hasWaiters: Bool { waiterCount.load(ordering: .acquiring) > 0 }

    /// Returns whether the connection will be told.
    func wait(_ waiter: Waiter) -> Bool {
        var loss: ProtocolError?
        let isAdded = waiters.withLock { waiters in
            // What is found lost after this ends its wait.
            loss = self.loss(of: waiter)
            guard loss == nil else { return true }
            guard waiters.count < Self.waiterCountMax else { return false }
            waiters.append(waiter)
            waiterCount.store(waiters.count, ordering: .releasing)
            return true
        }
        if let loss {
            waiter.connection.post(.replicated(.refused(loss)))
        } else if isAdded {
            signal.notify()
        }
        return isAdded
    }

    /// Makes a change wait until the bucket has everything that this store did so far, even if this daemon has just
    /// lost the lead, since the bucket is not known to have it. A change without effect waits for a segment that is
    /// begun after it, since nothing else shows that this daemon still leads. Returns an immediate answer; nil: the
    /// connection waits.
    func awaitBucket(
        _ result: ChangeResult, in batches: BatchSpan, for connection: ConnectionAddress,
        asOf now: Instant
    ) -> ChangeResult? {
        let waiter = Waiter(
            batches: batches, connection: connection, result: result,
            end: now.after(milliseconds: options.unreplicatedMillisecondsMax),
            segment: result.mayLackEffect ? .next : .none)
        if wait(waiter) { return nil }
        return .refused(
            ProtocolError(
                .unreplicated,
                "stored here, but not in the bucket: \(Self.waiterCountMax) requests are already waiting for that"
            ))
    }

    /// Returns whether somebody waits for the segment that is begun now.
    func beginSegment() -> Bool {
        guard hasWaiters else { return false }
        return waiters.withLock { waiters in
            var isAwaited = false
            for index in waiters.indices where waiters[index].segment != .none {
                waiters[index].segment = .begun
                isAwaited = true
            }
            return isAwaited
        }
    }

    func noteSegmentAppended() {
        guard hasWaiters else { return }
        waiters.withLock { waiters in
            for index in waiters.indices where waiters[index].segment == .begun {
                waiters[index].segment = .none
            }
        }
    }

    /// Ends waits that are fulfilled, and those that have taken too long.
    func complete(upTo sequence: UInt64, asOf now: Instant) {
        reachedSequence.store(sequence, ordering: .relaxed)
        completedAt.store(now.nanoseconds, ordering: .relaxed)
        guard hasWaiters else { return }
        // A follower appends no segment.
        let refusal = role == .follower ? refusal : nil
        let done = takeWaiters { waiter in
            waiter.isFulfilled(by: sequence) || waiter.end <= now
                || (refusal != nil && waiter.segment != .none)
        }
        let seconds = options.unreplicatedMillisecondsMax / 1_000
        tell(done) { waiter in
            guard let result = waiter.result else { return .committed }
            if waiter.isFulfilled(by: sequence) { return result }
            if let refusal, waiter.segment != .none { return .refused(refusal) }
            return .refused(
                ProtocolError(
                    .unreplicated,
                    waiter.batches.last > sequence
                        ? "stored here, but not in the bucket within \(seconds) s: it may be lost with this host"
                        : "nothing was changed, and the bucket did not confirm within \(seconds) s that this daemon leads"
                ))
        }
    }

    func failAll(_ error: ProtocolError) {
        tell(takeWaiters { _ in true }) { _ in .refused(error) }
    }

    /// Ends the waits for some batches, also those that begin later.
    func refuse(_ error: ProtocolError, of sequences: [UInt64]) {
        lost.withLock { lost in
            lost += sequences.map { ($0, error) }
            lost.removeFirst(max(0, lost.count - ReplicationLimits.lostSequenceCountMax))
        }
        tell(takeWaiters { loss(of: $0) != nil }) { _ in .refused(error) }
    }

    /// Why a waiter waits in vain; nil: it does not, or is about what it reads.
    private func loss(of waiter: Waiter) -> ProtocolError? {
        guard waiter.result != nil else { return nil }
        return lost.withLock { lost in
            lost.first { waiter.batches.contains($0.sequence) }?.error
        }
    }

    private func takeWaiters(_ isTaken: (Waiter) -> Bool) -> [Waiter] {
        waiters.withLock { waiters in
            let taken = waiters.filter(isTaken)
            waiters.removeAll(where: isTaken)
            waiterCount.store(waiters.count, ordering: .releasing)
            return taken
        }
    }

    private func tell(_ waiters: [Waiter], _ result: (Waiter) -> ChangeResult) {
        InboxWakes.post(waiters.map { ($0.connection, .replicated(result($0))) })
    }

    func promote(_ request: Promotion) -> Bool {
        let isFirst = promotion.withLock { promotion in
            guard promotion == nil else { return false }
            promotion = request
            return true
        }
        if isFirst { signal.notify() }
        return isFirst
    }

    var hasPromotion: Bool { promotion.withLock { $0 != nil } }

    /// - Parameter latest: a later request stays: it does not know of what happened before it.
    func takePromotion(askedUntil latest: Instant = .now) -> Promotion? {
        promotion.withLock { promotion in
            guard let request = promotion, request.askedAt <= latest else { return nil }
            promotion = nil
            return request
        }
    }

    /// Refuses a request for the lead that nobody has begun with.
    func refuseLatePromotion(asOf now: Instant) {
        let limit = ReplicationLimits.handoverMilliseconds
        takePromotion(askedUntil: now.after(milliseconds: -limit))?.refuse(
            "this daemon could not begin to take the lead within \(limit / 1_000) s, since what it does with the bucket takes longer: nothing was changed, try again"
        )
    }
}
