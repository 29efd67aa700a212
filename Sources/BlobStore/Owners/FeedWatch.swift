internal import Bytes
internal import Synchronization

/// Who waits for which owner's changes. Only commits of this process are heard. A waiter costs an entry in a
/// dictionary.
///
/// No wake-up is lost. A commit notifies after it can be read and a waiter says in which revision it has looked;
/// whichever of the two takes the lock first, the other sees it.
public final class FeedWatch: Sendable {
    typealias Wake = @Sendable () -> Void

    struct Limits {
        var total: Int
        var perOwner = Int.max
        var perPeer: Int

        /// - Parameter perPeer: nil: three quarters of `total`.
        init(total: Int, perOwner: Int = .max, perPeer: Int? = nil) {
            self.total = total
            self.perOwner = perOwner
            self.perPeer = perPeer ?? StoreLimits.watcherCountPerPeerMaxDefault(of: total)
        }

        init(_ options: StoreOptions) {
            self.init(
                total: options.watcherCountMax, perOwner: options.watcherCountPerOwnerMax,
                perPeer: options.watcherCountPerPeerMax)
        }
    }

    private struct State {
        var limits: Limits
        /// Waiters by the bytes of their owner's name, and by number.
        var waiting: [[UInt8]: [UInt64: Wake]] = [:]
        /// For each bucket of owners' names the latest commit that concerned one of them.
        var revisions = [UInt64](repeating: 0, count: FeedWatch.bucketCount)
        var slotCount = 0
        /// Slots by the bytes of their owner's name, and by peer; none is 0.
        var ownerSlots: [[UInt8]: Int] = [:]
        var peerSlots: [UInt32: Int] = [:]
        var nextNumber: UInt64 = 0
        var wakeCount = 0
    }

    /// Taken inside `CommitPipeline.writing`, and never around a call of a waiter, whose own locks come
    /// after.
    private let state: Mutex<State>

    /// Names that share a bucket by chance cost a waiter a look for nothing, never a wake-up.
    private static let bucketCount = 4_096

    init(_ limits: Limits) { state = Mutex(State(limits: limits)) }

    /// How many may have a slot now. Who has one keeps it, also where it is less than there are.
    var limits: Limits {
        get { state.withLock { $0.limits } }
        set { state.withLock { $0.limits = newValue } }
    }

    package var countMax: Int { limits.total }

    /// Takes a slot for a waiter, who waits for nothing yet. It is freed with the last reference.
    ///
    /// - Parameters:
    ///   - owner: whose changes it waits for.
    ///   - peer: whose slot it is, such as a user's number; nil: it counts for no peer.
    ///   - wake: called on the thread that made the change, once for each time it was waited for. It must be quick and must
    ///     not call the store.
    /// - Throws: ``StoreError/tooManyWatchers(limit:of:)``.
    public func register(
        _ owner: [UInt8], peer: UInt32? = nil, _ wake: @escaping @Sendable () -> Void
    ) throws(StoreError) -> FeedRegistration {
        let slot = state.withLock { state in takeSlot(owner, peer, in: &state) }
        switch slot {
        case .success(let number): return FeedRegistration(self, owner, peer, number, wake)
        case .failure(let error): throw error
        }
    }

    private func takeSlot(
        _ owner: [UInt8], _ peer: UInt32?, in state: inout State
    ) -> Result<UInt64, StoreError> {
        let limits = state.limits
        guard state.slotCount < limits.total else {
            return .failure(.tooManyWatchers(limit: limits.total, of: .total))
        }
        let ofOwner = state.ownerSlots[owner, default: 0]
        guard ofOwner < limits.perOwner else {
            return .failure(.tooManyWatchers(limit: limits.perOwner, of: .owner))
        }
        if let peer {
            let ofPeer = state.peerSlots[peer, default: 0]
            guard ofPeer < limits.perPeer else {
                return .failure(.tooManyWatchers(limit: limits.perPeer, of: .peer))
            }
            state.peerSlots[peer] = ofPeer + 1
        }
        state.ownerSlots[owner] = ofOwner + 1
        state.slotCount += 1
        state.nextNumber += 1
        return .success(state.nextNumber)
    }

    /// Calls `wake` once, after the first commit after `revision` that concerns `owner`. Returns nil when there
    /// was such a commit already, or may have been: look again.
    ///
    /// - Throws: ``StoreError/tooManyWatchers(limit:of:)``.
    public func register(
        _ owner: [UInt8], after revision: UInt64, _ wake: @escaping @Sendable () -> Void
    ) throws(StoreError) -> FeedRegistration? {
        let registration = try register(owner, wake)
        return registration.wait(after: revision) ? registration : nil
    }

    /// Wakes who waits for one of `owners`. After the commit that made `revision` the last one.
    func notify(_ owners: [String], at revision: UInt64) {
        guard !owners.isEmpty else { return }
        let woken: [Wake] = state.withLock { state in
            var woken: [Wake] = []
            for owner in owners {
                state.revisions[Self.bucket(owner.utf8.span.bytes)] = revision
                guard !state.waiting.isEmpty,
                    let waiters = state.waiting.removeValue(forKey: Array(owner.utf8))
                else { continue }
                woken.append(contentsOf: waiters.values)
            }
            state.wakeCount += woken.count
            return woken
        }
        for wake in woken { wake() }
    }

    /// How many have a slot.
    public var count: Int { state.withLock { $0.slotCount } }

    /// How many of that owner have a slot.
    func count(ofOwner owner: [UInt8]) -> Int {
        state.withLock { $0.ownerSlots[owner, default: 0] }
    }

    /// How many of that peer have a slot.
    func count(ofPeer peer: UInt32) -> Int {
        state.withLock { $0.peerSlots[peer, default: 0] }
    }

    /// How many wake-ups there have been.
    public var wakeCount: Int { state.withLock { $0.wakeCount } }

    fileprivate func wait(_ registration: FeedRegistration, after revision: UInt64) -> Bool {
        let owner = registration.owner
        return state.withLock { state in
            guard state.revisions[Self.bucket(owner.span.bytes)] <= revision else { return false }
            state.waiting[owner, default: [:]][registration.number] = registration.wake
            return true
        }
    }

    fileprivate func stopWaiting(_ registration: FeedRegistration) {
        // What the waiter's call holds is released outside of the lock.
        _ = state.withLock { state in Self.remove(registration, from: &state) }
    }

    fileprivate func releaseSlot(_ registration: FeedRegistration) {
        _ = state.withLock { state in
            state.slotCount -= 1
            Self.countDown(registration.owner, in: &state.ownerSlots)
            if let peer = registration.peer { Self.countDown(peer, in: &state.peerSlots) }
            return Self.remove(registration, from: &state)
        }
    }

    /// One slot less for a key. A key without slots is not kept.
    private static func countDown<Waited>(_ key: Waited, in slots: inout [Waited: Int]) {
        let left = slots[key, default: 0] - 1
        slots[key] = left > 0 ? left : nil
    }

    private static func remove(
        _ registration: FeedRegistration, from state: inout State
    ) -> Wake? {
        let wake = state.waiting[registration.owner]?.removeValue(forKey: registration.number)
        if state.waiting[registration.owner]?.isEmpty == true {
            state.waiting[registration.owner] = nil
        }
        return wake
    }

    /// FNV-1a: no allocation, and nothing to gain from names that fall together.
    private static func bucket(_ owner: RawSpan) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in 0..<owner.byteCount {
            hash = (hash ^ UInt64(owner.byte(index))) &* 0x0000_0100_0000_01b3
        }
        return Int((hash ^ hash >> 32) % UInt64(bucketCount))
    }
}

/// A waiter's slot. It is freed with the last reference.
public final class FeedRegistration: Sendable {
    private let watch: FeedWatch
    fileprivate let owner: [UInt8]
    fileprivate let peer: UInt32?
    fileprivate let number: UInt64
    fileprivate let wake: FeedWatch.Wake

    fileprivate init(
        _ watch: FeedWatch, _ owner: [UInt8], _ peer: UInt32?, _ number: UInt64,
        _ wake: @escaping FeedWatch.Wake
    ) {
        self.watch = watch
        self.owner = owner
        self.peer = peer
        self.number = number
        self.wake = wake
    }

    deinit {
        watch.releaseSlot(self)
    }

    /// Waits for the first commit after the revision in which there was nothing more to read. Returns false when
    /// there was such a commit already, or may have been: look again.
    public func wait(after revision: UInt64) -> Bool { watch.wait(self, after: revision) }

    /// Stops waiting now, and keeps the slot. Nothing happens when it was woken; a wake-up that is
    /// on its way may still come.
    public func cancel() { watch.stopWaiting(self) }
}
