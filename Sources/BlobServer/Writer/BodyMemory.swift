import Synchronization

/// The length of a body. Each kind may use the memory of longer ones, and one more share.
enum BodyKind: Int, CaseIterable, Comparable {
    /// All of it has arrived, so no client can delay it.
    case whole
    /// Short, as announced or as far as is known.
    case short
    case long

    static func < (left: BodyKind, right: BodyKind) -> Bool { left.rawValue < right.rawValue }
}

/// The memory for bodies on their way into the store, and the files to which long ones are spooled. A body reserves
/// memory as bytes arrive. If it cannot grow, it continues in a file. If no file is free, it waits, and its connection
/// is not read.
final class BodyMemory: Sendable {
    /// One share is reserved for bodies that arrived whole, one for those and short ones.
    private static let shareCount = 4
    /// Bodies that may wait for memory or a file; further ones are refused immediately.
    private static let waitingCountMax = 1_024

    struct Limits: Sendable {
        var byteCountMax: Int
        var spoolCountMax: Int
        var waitingCountMax = BodyMemory.waitingCountMax

        /// The total of reserved memory up to which a body of this kind may get some, in bytes.
        func ceiling(_ kind: BodyKind) -> Int {
            let share = byteCountMax / BodyMemory.shareCount
            switch kind {
            case .whole: return byteCountMax
            case .short: return byteCountMax - share
            case .long: return byteCountMax - 2 * share
            }
        }
    }

    struct Need: Equatable {
        /// Total memory, in bytes; nil: only a file.
        var byteCount: Int?
        var kind: BodyKind
        /// Whether a file would do.
        var takesSpool: Bool
    }

    /// The total needs of waiting bodies.
    struct Wanted: Equatable {
        var byteCount = 0
        var spoolCount = 0

        var isNothing: Bool { byteCount <= 0 && spoolCount <= 0 }
    }

    private let ledger: Mutex<BodyLedger>
    private let waiting = Atomic<Int>(0)

    init(_ limits: Limits) { ledger = Mutex(BodyLedger(limits)) }

    var limits: Limits { ledger.withLock { $0.limits } }

    /// Existing reservations are kept.
    func change(byteCountMax: Int) {
        change(serving: true) { $0.limits.byteCountMax = byteCountMax }
    }

    var byteCountReserved: Int { ledger.withLock { $0.byteCount } }
    var spoolCountTaken: Int { ledger.withLock { $0.spoolCount } }
    var isWanted: Bool { waiting.now > 0 }
    var wanted: Wanted { ledger.withLock { $0.wanted } }

    /// Whether so much memory was reserved and released that it should be returned to the system.
    func takeShouldTrim() -> Bool { ledger.withLock { $0.takeShouldTrim() } }

    /// - Parameter serving: whether something may have become free for waiters, which are notified outside of the lock.
    fileprivate func change<Result>(
        serving: Bool = false, _ body: (inout BodyLedger) -> Result
    ) -> Result {
        let (result, granted) = ledger.withLock { ledger in
            defer { waiting.store(ledger.waiterCount, ordering: .relaxed) }
            return (body(&ledger), serving ? ledger.serve() : [])
        }
        for reservation in granted { reservation.connection.post(.memoryGranted) }
        return result
    }
}

/// One body's share of ``BodyMemory``, until the body is committed or abandoned.
final class BodyReservation: Sendable {
    enum Wait: Equatable {
        case granted
        /// Queued: the connection will get `memoryGranted`.
        case waiting
        /// The queue is full.
        case refused
    }

    private let memory: BodyMemory
    let peer: Peer
    fileprivate let connection: ConnectionAddress
    // Changed under the lock of the memory.
    fileprivate let bytes = Atomic<Int>(0)
    fileprivate let spools = Atomic<Int>(0)

    init(of memory: BodyMemory, _ peer: Peer, for connection: ConnectionAddress) {
        self.memory = memory
        self.peer = peer
        self.connection = connection
    }

    deinit { release(bytes.now, spools.now) }

    private func release(_ byteCount: Int, _ spoolCount: Int) {
        guard byteCount > 0 || spoolCount > 0 else { return }
        let peer = peer
        memory.change(serving: true) { $0.release(byteCount, spoolCount, of: peer) }
    }

    var byteCount: Int { bytes.now }
    var spoolCount: Int { spools.now }

    /// Reserves memory up to a total of `byteCount` bytes, or the most that its kind can have. Never waits: returns
    /// false if they are not free, or others are waiting already.
    func grow(to byteCount: Int, _ kind: BodyKind) -> Bool {
        byteCount <= bytes.now || memory.change { $0.grow(self, to: byteCount, kind) }
    }

    /// Reserves another file, even if others wait: they would have it if one were free for them. Never waits.
    func takeSpool() -> Bool { memory.change { $0.grantSpool(to: self) == .granted } }

    func wait(for need: BodyMemory.Need) -> Wait { memory.change { $0.wait(self, for: need) } }

    /// Leaves the queue, where it may have held up others. False if it is not queued, or no longer.
    @discardableResult
    func cancel() -> Bool { memory.change(serving: true) { $0.cancel(self) } }

    func shrink(to byteCount: Int) {
        let less = bytes.now - byteCount
        guard less > 0 else { return }
        bytes.change(by: -less)
        release(less, 0)
    }
}

private struct BodyLedger {
    /// While others wait, a peer may have at most all memory and all spool files divided by this.
    private static let peerParts = 2
    /// From this many bytes on, memory that bodies have released is returned to the system.
    private static let trimmedByteCountMin = 8 << 20

    private struct Waiter {
        let need: BodyMemory.Need
        let reservation: BodyReservation
    }

    enum Outcome {
        case granted
        /// Too little is free.
        case taken
        /// The peer has its share already, and others wait.
        case overPart
    }

    var limits: BodyMemory.Limits
    private(set) var byteCount = 0
    /// The peak since memory was last returned to the system.
    private var byteCountPeak = 0
    private(set) var spoolCount = 0
    /// Short bodies before long ones, each kind in order of arrival.
    private var waiters: [Waiter] = []

    init(_ limits: BodyMemory.Limits) { self.limits = limits }

    var waiterCount: Int { waiters.count }

    var wanted: BodyMemory.Wanted {
        waiters.reduce(into: BodyMemory.Wanted()) { wanted, waiter in
            if let byteCount = waiter.need.byteCount {
                wanted.byteCount += byteCount - waiter.reservation.byteCount
            } else {
                wanted.spoolCount += 1
            }
        }
    }

    mutating func takeShouldTrim() -> Bool {
        guard byteCountPeak >= Self.trimmedByteCountMin,
            byteCount <= byteCountPeak / 4
        else { return false }
        byteCountPeak = byteCount
        return true
    }

    mutating func grow(
        _ reservation: BodyReservation, to byteCount: Int, _ kind: BodyKind
    ) -> Bool {
        !hasWaiters(before: kind) && grant(byteCount, kind, to: reservation) == .granted
    }

    mutating func wait(
        _ reservation: BodyReservation, for need: BodyMemory.Need
    ) -> BodyReservation.Wait {
        var (hasMemory, hasSpools) = (true, true)
        if !hasWaiters(before: need.kind), grant(need, to: reservation, &hasMemory, &hasSpools) {
            return .granted
        }
        guard waiters.count < limits.waitingCountMax else { return .refused }
        let index = waiters.firstIndex { $0.need.kind > need.kind } ?? waiters.endIndex
        waiters.insert(Waiter(need: need, reservation: reservation), at: index)
        reservation.peer.waitingBodyCount.change(by: 1)
        return .waiting
    }

    mutating func cancel(_ reservation: BodyReservation) -> Bool {
        let index = waiters.firstIndex { $0.reservation === reservation }
        if let index { _ = removeWaiter(index) }
        return index != nil
    }

    mutating func release(_ byteCount: Int, _ spoolCount: Int, of peer: Peer) {
        self.byteCount -= byteCount
        self.spoolCount -= spoolCount
        peer.bodyByteCount.change(by: -byteCount)
        peer.spoolCount.change(by: -spoolCount)
    }

    /// Grants free memory and files to waiters, in order. Only waiters of a peer that has its share are skipped.
    mutating func serve() -> [BodyReservation] {
        var granted: [BodyReservation] = []
        var count: Int
        // A skipped body may then be the only one that waits.
        repeat {
            count = granted.count
            var (hasMemory, hasSpools) = (true, true)
            var index = 0
            while index < waiters.count, hasMemory || hasSpools {
                let waiter = waiters[index]
                if grant(waiter.need, to: waiter.reservation, &hasMemory, &hasSpools) {
                    granted.append(removeWaiter(index))
                } else {
                    index += 1
                }
            }
        } while granted.count > count
        return granted
    }

    private mutating func removeWaiter(_ index: Int) -> BodyReservation {
        let reservation = waiters.remove(at: index).reservation
        reservation.peer.waitingBodyCount.change(by: -1)
        return reservation
    }

    private func hasWaiters(before kind: BodyKind) -> Bool {
        guard let first = waiters.first else { return false }
        return first.need.kind <= kind
    }

    /// Whether a peer would have more than its share of `all` while others wait.
    private func isOverPart(_ count: Int, of all: Int, _ peer: Peer) -> Bool {
        count > all / Self.peerParts && waiters.count > peer.waitingBodyCount.now
    }

    /// Grants memory or, if there is none, a file. Clears `hasMemory` once there was too little for a waiter, so that
    /// those after it get none either, and `hasSpools` likewise.
    private mutating func grant(
        _ need: BodyMemory.Need, to reservation: BodyReservation, _ hasMemory: inout Bool,
        _ hasSpools: inout Bool
    ) -> Bool {
        if let byteCount = need.byteCount, hasMemory {
            let outcome = grant(byteCount, need.kind, to: reservation)
            if outcome == .granted { return true }
            hasMemory = outcome != .taken
        }
        guard need.takesSpool, hasSpools else { return false }
        let outcome = grantSpool(to: reservation)
        hasSpools = outcome != .taken
        return outcome == .granted
    }

    private mutating func grant(
        _ byteCount: Int, _ kind: BodyKind, to reservation: BodyReservation
    ) -> Outcome {
        let ceiling = limits.ceiling(kind)
        let (peer, held) = (reservation.peer, reservation.byteCount)
        // A body must not wait for more than there can ever be.
        let more = min(byteCount, ceiling) - held
        guard more > 0 else { return .granted }
        guard more <= ceiling - self.byteCount else { return .taken }
        let before = peer.bodyByteCount.now
        // A peer that holds nothing else may have what one body needs.
        if before > held, isOverPart(before + more, of: ceiling, peer) { return .overPart }
        self.byteCount += more
        byteCountPeak = max(byteCountPeak, self.byteCount)
        peer.bodyByteCount.change(by: more)
        reservation.bytes.change(by: more)
        return .granted
    }

    mutating func grantSpool(to reservation: BodyReservation) -> Outcome {
        guard spoolCount < limits.spoolCountMax else { return .taken }
        let peer = reservation.peer
        let before = peer.spoolCount.now
        if before > 0, isOverPart(before + 1, of: limits.spoolCountMax, peer) { return .overPart }
        spoolCount += 1
        peer.spoolCount.change(by: 1)
        reservation.spools.change(by: 1)
        return .granted
    }
}
