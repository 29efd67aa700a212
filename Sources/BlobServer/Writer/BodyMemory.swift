import Synchronization

/// How long a body is. Each kind may use what the longer ones may, and one share more.
enum BodyKind: Int, CaseIterable, Comparable {
    /// All of it is here, so no client can delay it.
    case whole
    /// It is known to be short, or is so far.
    case short
    case long

    static func < (left: BodyKind, right: BodyKind) -> Bool { left.rawValue < right.rawValue }
}

/// The memory for bodies on their way into the store, and the files that long ones are spooled to. A body reserves
/// memory as its bytes come. If it cannot grow, it continues in a file. If none is free either, it waits, and its
/// connection is not read.
final class BodyMemory: Sendable {
    /// One share is kept for bodies that are whole when they are looked at, one for those and the short ones.
    private static let shareCount = 4
    /// Bodies that wait for memory or a file at once; others are refused immediately.
    private static let waitingCountMax = 1_024

    struct Limits: Sendable {
        var byteCountMax: Int
        var spoolCountMax: Int
        var waitingCountMax = BodyMemory.waitingCountMax

        /// How much memory may be reserved in all when a body of this kind gets some, in bytes.
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
        /// Memory to have in all, in bytes; nil: only a file.
        var byteCount: Int?
        var kind: BodyKind
        /// Whether a file will do.
        var takesSpool: Bool
    }

    /// What those who wait need in all.
    struct Wanted: Equatable {
        var byteCount = 0
        var spoolCount = 0

        var isNothing: Bool { byteCount <= 0 && spoolCount <= 0 }
    }

    private let ledger: Mutex<BodyLedger>
    private let waiting = Atomic<Int>(0)

    init(_ limits: Limits) { ledger = Mutex(BodyLedger(limits)) }

    var limits: Limits { ledger.withLock { $0.limits } }

    /// What is reserved stays.
    func change(byteCountMax: Int) {
        change(serving: true) { $0.limits.byteCountMax = byteCountMax }
    }

    var byteCountReserved: Int { ledger.withLock { $0.byteCount } }
    var spoolCountTaken: Int { ledger.withLock { $0.spoolCount } }
    var isWanted: Bool { waiting.now > 0 }
    var wanted: Wanted { ledger.withLock { $0.wanted } }

    /// Whether so much was reserved, and is not any more, that memory should be returned to the system.
    func takeShouldTrim() -> Bool { ledger.withLock { $0.takeShouldTrim() } }

    /// - Parameter serving: whether something may have become free for those who wait. They are told outside of the lock.
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

/// What one body has of ``BodyMemory``, until it is committed or abandoned.
final class BodyReservation: Sendable {
    enum Wait: Equatable {
        case granted
        /// It is queued: its connection gets `memoryGranted`.
        case waiting
        /// The queue is full.
        case refused
    }

    private let memory: BodyMemory
    let peer: Peer
    fileprivate let connection: ConnectionAddress
    // Changed under the memory's lock.
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

    /// Reserves memory up to `byteCount` bytes in all, or the most that its kind can have. Never waits: false when
    /// they are not free, or others came first.
    func grow(to byteCount: Int, _ kind: BodyKind) -> Bool {
        byteCount <= bytes.now || memory.change { $0.grow(self, to: byteCount, kind) }
    }

    /// Reserves one file more, also where others wait: those would have it if one were free. Never waits.
    func takeSpool() -> Bool { memory.change { $0.grantSpool(to: self) == .granted } }

    func wait(for need: BodyMemory.Need) -> Wait { memory.change { $0.wait(self, for: need) } }

    /// Leaves the queue, in which others may have had to wait for it. False when it is not queued, or no longer.
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
    /// Memory and spool files are cut into this many parts, of which a peer has one at most while others wait.
    private static let peerParts = 2
    /// Memory that bodies had is returned to the system when they are done, from this many bytes on.
    private static let trimmedByteCountMin = 8 << 20

    private struct Waiter {
        let need: BodyMemory.Need
        let reservation: BodyReservation
    }

    enum Outcome {
        case granted
        /// Too little is free.
        case taken
        /// The peer has its part already, and others wait.
        case overPart
    }

    var limits: BodyMemory.Limits
    private(set) var byteCount = 0
    /// The most that was reserved since memory was returned to the system.
    private var byteCountPeak = 0
    private(set) var spoolCount = 0
    /// Short bodies before long ones, and each kind in the order in which they came.
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

    /// Grants what is free to those who wait, in their order. Only those of a peer that has its part are passed over.
    mutating func serve() -> [BodyReservation] {
        var granted: [BodyReservation] = []
        var count: Int
        // A body that was passed over may be the only one that waits then.
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

    /// Whether a peer would have more than its part of `all` while others wait for some.
    private func isOverPart(_ count: Int, of all: Int, _ peer: Peer) -> Bool {
        count > all / Self.peerParts && waiters.count > peer.waitingBodyCount.now
    }

    /// Grants memory or, where there is none, a file. `hasMemory` is cleared once there was too little for somebody:
    /// then those after it get none either. Likewise `hasSpools`.
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
        // Nobody may wait for more than there can ever be.
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
