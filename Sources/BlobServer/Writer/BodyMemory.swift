import Synchronization

/// How long a body is, as far as its memory goes. Each kind may use what the longer ones may, and a
/// share besides that is kept for it.
enum BodyKind: Int, CaseIterable, Comparable {
    /// All of it is here, so no client can hold up its way to the writer.
    case whole
    /// It is known to be short, or is so far.
    case short
    case long

    static func < (left: BodyKind, right: BodyKind) -> Bool { left.rawValue < right.rawValue }
}

/// The memory for bodies on their way into the store and the files that long ones are spooled to,
/// shared by all connections.
///
/// A body reserves memory as its bytes come (``BodyReservation``). What it cannot have at once, its
/// connection waits for in a queue, unread, and not for long: its worker refuses it when its time is
/// over. Nobody waits for a body that waits: one that cannot grow in memory goes on in a file, and
/// one that can do neither is refused in the end.
final class BodyMemory: Sendable {
    /// What there is.
    struct Limits: Sendable {
        /// Memory, in bytes.
        var byteCountMax: Int
        /// Files that bodies are spooled to.
        var spoolCountMax: Int
        /// Bodies that may wait.
        var waitingCountMax = DaemonLimits.waitingBodyCountMax

        /// Up to how much reserved memory a body of this kind may have some more, in bytes.
        func ceiling(_ kind: BodyKind) -> Int {
            let share = byteCountMax / DaemonLimits.bodyMemoryShares
            switch kind {
            case .whole: return byteCountMax
            case .short: return byteCountMax - share
            case .long: return byteCountMax - 2 * share
            }
        }
    }

    /// What a body waits for.
    struct Need: Equatable {
        /// Memory to have in all, in bytes; nil: only a file.
        var byteCount: Int?
        var kind: BodyKind
        /// Whether a file will do.
        var takesSpool: Bool
    }

    /// What those who wait want in all.
    struct Wanted: Equatable {
        var byteCount = 0
        var spoolCount = 0

        var isNothing: Bool { byteCount <= 0 && spoolCount <= 0 }
    }

    private struct Waiter {
        let need: Need
        let reservation: BodyReservation
    }

    private struct State {
        var byteCount = 0
        /// The most there was since memory was returned to the system.
        var byteCountPeak = 0
        var spoolCount = 0
        /// In the order in which they came, for each kind.
        var queues: [[Waiter]] = BodyKind.allCases.map { _ in [] }

        var waitingCount = 0

        /// Whether somebody waits who comes before a body of this kind.
        func hasWaiters(before kind: BodyKind) -> Bool {
            guard waitingCount > 0 else { return false }
            for queue in 0...kind.rawValue where !queues[queue].isEmpty { return true }
            return false
        }
    }

    private let state = Mutex(State())
    /// How many wait, for those who only want to know whether somebody does.
    private let waiting = Atomic<Int>(0)
    /// What there is.
    let limits: Limits

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// Memory that is reserved, in bytes.
    var byteCountReserved: Int { state.withLock { $0.byteCount } }
    /// Files that are taken.
    var spoolCountTaken: Int { state.withLock { $0.spoolCount } }
    /// Whether anybody waits. One load.
    var isWanted: Bool { waiting.now > 0 }

    /// What those who wait want.
    var wanted: Wanted {
        state.withLock { state in
            var wanted = Wanted()
            for waiter in state.queues.joined() {
                if let byteCount = waiter.need.byteCount {
                    wanted.byteCount += byteCount - waiter.reservation.byteCount
                } else {
                    wanted.spoolCount += 1
                }
            }
            return wanted
        }
    }

    /// Whether so much was reserved, and is not any more, that memory should go back to the system.
    func takeShouldTrim() -> Bool {
        state.withLock { state in
            guard state.byteCountPeak >= DaemonLimits.trimmedBodyMemoryByteCountMin,
                state.byteCount <= state.byteCountPeak / 4
            else { return false }
            state.byteCountPeak = state.byteCount
            return true
        }
    }

    // MARK: - For reservations

    /// Lets a reservation have `byteCount` bytes in all, if they are free and nobody who came before
    /// wants them.
    fileprivate func grow(
        _ reservation: BodyReservation, to byteCount: Int, _ kind: BodyKind
    ) -> Bool {
        state.withLock { state in
            !state.hasWaiters(before: kind)
                && grant(byteCount, kind, to: reservation, &state) == .granted
        }
    }

    /// Takes a file for a reservation, if one is free. Whoever waits for one would have it then.
    fileprivate func takeSpool(_ reservation: BodyReservation) -> Bool {
        state.withLock { grantSpool(to: reservation, &$0) == .granted }
    }

    /// Queues a reservation, unless it can have at once what it needs.
    fileprivate func wait(_ reservation: BodyReservation, for need: Need) -> BodyReservation.Wait {
        state.withLock { state in
            if !state.hasWaiters(before: need.kind) {
                if let byteCount = need.byteCount,
                    grant(byteCount, need.kind, to: reservation, &state) == .granted
                {
                    return .granted
                }
                if need.takesSpool, grantSpool(to: reservation, &state) == .granted {
                    return .granted
                }
            }
            guard state.waitingCount < limits.waitingCountMax else { return .refused }
            state.queues[need.kind.rawValue].append(Waiter(need: need, reservation: reservation))
            state.waitingCount += 1
            reservation.peer.waitingBodyCount.change(by: 1)
            waiting.change(by: 1)
            return .waiting
        }
    }

    /// Removes a reservation from the queue.
    ///
    /// - Returns: whether it was there: false when it has just been granted what it waits for.
    fileprivate func cancel(_ reservation: BodyReservation) -> Bool {
        let (found, granted) = state.withLock { state -> (Waiter?, [BodyReservation]) in
            for queue in state.queues.indices {
                let index = state.queues[queue].firstIndex { $0.reservation === reservation }
                guard let index else { continue }
                let waiter = state.queues[queue].remove(at: index)
                dequeue(waiter, &state)
                // It may have been the one that others had to wait for.
                return (waiter, serve(&state))
            }
            return (nil, [])
        }
        Self.notify(granted)
        return found != nil
    }

    /// Takes back some of what a reservation has.
    fileprivate func release(_ byteCount: Int, _ spoolCount: Int, of peer: Peer) {
        guard byteCount > 0 || spoolCount > 0 else { return }
        let granted = state.withLock { state -> [BodyReservation] in
            state.byteCount -= byteCount
            state.spoolCount -= spoolCount
            peer.bodyByteCount.change(by: -byteCount)
            peer.spoolCount.change(by: -spoolCount)
            return serve(&state)
        }
        Self.notify(granted)
    }

    // MARK: - The rules

    private enum Outcome { case granted, taken, overPart }

    /// The part that a peer may have of `all` while others wait for some.
    private func isOverPart(_ count: Int, of all: Int, _ peer: Peer, _ state: State) -> Bool {
        count > all / DaemonLimits.bodyPeerParts
            && state.waitingCount > peer.waitingBodyCount.now
    }

    private func grant(
        _ byteCount: Int, _ kind: BodyKind, to reservation: BodyReservation, _ state: inout State
    ) -> Outcome {
        let ceiling = limits.ceiling(kind)
        let (peer, held) = (reservation.peer, reservation.byteCount)
        // Nobody may wait for more than there can ever be.
        let more = min(byteCount, ceiling) - held
        guard more > 0 else { return .granted }
        guard more <= ceiling - state.byteCount else { return .taken }
        let before = peer.bodyByteCount.now
        // One that has nothing yet may have what one body needs.
        if before > held, isOverPart(before + more, of: ceiling, peer, state) { return .overPart }
        state.byteCount += more
        state.byteCountPeak = max(state.byteCountPeak, state.byteCount)
        peer.bodyByteCount.change(by: more)
        reservation.bytes.change(by: more)
        return .granted
    }

    private func grantSpool(to reservation: BodyReservation, _ state: inout State) -> Outcome {
        guard state.spoolCount < limits.spoolCountMax else { return .taken }
        let peer = reservation.peer
        let before = peer.spoolCount.now
        if before > 0, isOverPart(before + 1, of: limits.spoolCountMax, peer, state) {
            return .overPart
        }
        state.spoolCount += 1
        peer.spoolCount.change(by: 1)
        reservation.spools.change(by: 1)
        return .granted
    }

    /// Gives what is free to those who wait: the short before the long, and of each kind those who
    /// came first. Only those of a peer that has its part are passed over.
    ///
    /// - Returns: who was granted something, to be told outside of the lock.
    private func serve(_ state: inout State) -> [BodyReservation] {
        var granted: [BodyReservation] = []
        // Who was passed over may be the only one who waits then.
        while state.waitingCount > 0 {
            let count = granted.count
            serveOnce(&state, &granted)
            if granted.count == count { break }
        }
        return granted
    }

    private func serveOnce(_ state: inout State, _ granted: inout [BodyReservation]) {
        var (isMemoryTaken, areSpoolsTaken) = (false, false)
        for queue in state.queues.indices {
            var index = 0
            while index < state.queues[queue].count {
                if isMemoryTaken, areSpoolsTaken { return }
                let waiter = state.queues[queue][index]
                var outcome = Outcome.taken
                if let byteCount = waiter.need.byteCount, !isMemoryTaken {
                    outcome = grant(byteCount, waiter.need.kind, to: waiter.reservation, &state)
                    if outcome == .taken { isMemoryTaken = true }
                }
                if outcome != .granted, waiter.need.takesSpool, !areSpoolsTaken {
                    outcome = grantSpool(to: waiter.reservation, &state)
                    if outcome == .taken { areSpoolsTaken = true }
                }
                guard outcome == .granted else {
                    index += 1
                    continue
                }
                dequeue(state.queues[queue].remove(at: index), &state)
                granted.append(waiter.reservation)
            }
        }
    }

    private func dequeue(_ waiter: Waiter, _ state: inout State) {
        state.waitingCount -= 1
        waiter.reservation.peer.waitingBodyCount.change(by: -1)
        waiting.change(by: -1)
    }

    private static func notify(_ granted: [BodyReservation]) {
        for reservation in granted { reservation.connection.post(.memoryGranted) }
    }
}

/// What one body has of ``BodyMemory``. It is released with the last reference goes: after the
/// body is committed, or given up.
final class BodyReservation: Sendable {
    /// What came of a wait.
    enum Wait: Equatable {
        /// It has what it needs.
        case granted
        /// It is queued: its connection gets `memoryGranted`.
        case waiting
        /// The queue is full.
        case refused
    }

    fileprivate let memory: BodyMemory
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

    deinit {
        memory.release(bytes.now, spools.now, of: peer)
    }

    /// Memory it has, in bytes.
    var byteCount: Int { bytes.now }
    /// Files it has.
    var spoolCount: Int { spools.now }

    /// Has `byteCount` bytes in all from now on, or as many as a body of its kind can have at all.
    /// Never waits.
    ///
    /// - Returns: false when they are not free, or others came first.
    func grow(to byteCount: Int, _ kind: BodyKind) -> Bool {
        byteCount <= bytes.now || memory.grow(self, to: byteCount, kind)
    }

    /// Has one file more. Never waits.
    ///
    /// - Returns: false when none is free.
    func takeSpool() -> Bool { memory.takeSpool(self) }

    /// Queues for what it needs, unless it can have it at once.
    func wait(for need: BodyMemory.Need) -> Wait { memory.wait(self, for: need) }

    /// Leaves the queue.
    ///
    /// - Returns: false when it is not queued, or no longer.
    @discardableResult
    func cancel() -> Bool { memory.cancel(self) }

    /// Releases what it has over `byteCount` bytes.
    func shrink(to byteCount: Int) {
        let less = bytes.now - byteCount
        guard less > 0 else { return }
        bytes.change(by: -less)
        memory.release(less, 0, of: peer)
    }
}
