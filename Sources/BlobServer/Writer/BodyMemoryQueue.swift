/// What is reserved of ``BodyMemory`` and who waits for some, with the rules for both. Used under the
/// memory's lock.
struct BodyMemoryQueue {
    /// Memory and spool files are cut into this many parts, of which a peer has one at most while others wait.
    private static let peerParts = 2
    /// Memory that bodies had is returned to the system when they are done, from this many bytes on.
    private static let trimmedByteCountMin = 8 << 20

    private struct Waiter {
        let need: BodyMemory.Need
        let reservation: BodyReservation
    }

    /// What became of a request.
    private enum Outcome {
        case granted
        /// Too little is free.
        case taken
        /// The peer has its part already, and others wait.
        case overPart
    }

    var limits: BodyMemory.Limits
    /// Memory that is reserved, in bytes.
    private(set) var byteCount = 0
    /// The most that was reserved since memory was returned to the system.
    private var byteCountPeak = 0
    /// Files that are taken.
    private(set) var spoolCount = 0
    private(set) var waitingCount = 0
    /// For each kind, in the order in which they came.
    private var queues: [[Waiter]] = BodyKind.allCases.map { _ in [] }

    init(_ limits: BodyMemory.Limits) {
        self.limits = limits
    }

    /// What those who wait need in all.
    var wanted: BodyMemory.Wanted {
        var wanted = BodyMemory.Wanted()
        for waiter in queues.joined() {
            if let byteCount = waiter.need.byteCount {
                wanted.byteCount += byteCount - waiter.reservation.byteCount
            } else {
                wanted.spoolCount += 1
            }
        }
        return wanted
    }

    /// Whether much less is reserved than there was.
    mutating func takeShouldTrim() -> Bool {
        guard byteCountPeak >= Self.trimmedByteCountMin,
            byteCount <= byteCountPeak / 4
        else { return false }
        byteCountPeak = byteCount
        return true
    }

    // MARK: - Requests

    /// Reserves memory for a body, if it is free and nobody comes before.
    mutating func grow(
        _ reservation: BodyReservation, to byteCount: Int, _ kind: BodyKind
    ) -> Bool {
        !hasWaiters(before: kind) && grant(byteCount, kind, to: reservation) == .granted
    }

    /// Reserves a file for a body, if one is free. Then nobody waits for one.
    mutating func takeSpool(_ reservation: BodyReservation) -> Bool {
        grantSpool(to: reservation) == .granted
    }

    /// Reserves what a body needs, or queues it.
    mutating func wait(
        _ reservation: BodyReservation, for need: BodyMemory.Need
    ) -> BodyReservation.Wait {
        if !hasWaiters(before: need.kind) {
            if let byteCount = need.byteCount,
                grant(byteCount, need.kind, to: reservation) == .granted
            {
                return .granted
            }
            if need.takesSpool, grantSpool(to: reservation) == .granted { return .granted }
        }
        guard waitingCount < limits.waitingCountMax else { return .refused }
        queues[need.kind.rawValue].append(Waiter(need: need, reservation: reservation))
        waitingCount += 1
        reservation.peer.waitingBodyCount.change(by: 1)
        return .waiting
    }

    /// Removes a body from the queue.
    ///
    /// - Returns: whether it was there.
    mutating func cancel(_ reservation: BodyReservation) -> Bool {
        for queue in queues.indices {
            let index = queues[queue].firstIndex { $0.reservation === reservation }
            guard let index else { continue }
            dequeue(queue, index)
            return true
        }
        return false
    }

    /// Takes back memory and files.
    mutating func release(_ byteCount: Int, _ spoolCount: Int, of peer: Peer) {
        self.byteCount -= byteCount
        self.spoolCount -= spoolCount
        peer.bodyByteCount.change(by: -byteCount)
        peer.spoolCount.change(by: -spoolCount)
    }

    /// Grants what is free to those who wait: short bodies before long ones, and of each kind in the
    /// order in which they came. Only those of a peer that has its part are passed over.
    ///
    /// - Returns: those that were granted something, to be told outside of the lock.
    mutating func serve() -> [BodyReservation] {
        var granted: [BodyReservation] = []
        // A body that was passed over may be the only one that waits then.
        while waitingCount > 0 {
            let count = granted.count
            serveOnce(&granted)
            if granted.count == count { break }
        }
        return granted
    }

    private mutating func serveOnce(_ granted: inout [BodyReservation]) {
        var (isMemoryTaken, areSpoolsTaken) = (false, false)
        for queue in queues.indices {
            var index = 0
            while index < queues[queue].count {
                if isMemoryTaken, areSpoolsTaken { return }
                let waiter = queues[queue][index]
                var outcome = Outcome.taken
                if let byteCount = waiter.need.byteCount, !isMemoryTaken {
                    outcome = grant(byteCount, waiter.need.kind, to: waiter.reservation)
                    if outcome == .taken { isMemoryTaken = true }
                }
                if outcome != .granted, waiter.need.takesSpool, !areSpoolsTaken {
                    outcome = grantSpool(to: waiter.reservation)
                    if outcome == .taken { areSpoolsTaken = true }
                }
                guard outcome == .granted else {
                    index += 1
                    continue
                }
                dequeue(queue, index)
                granted.append(waiter.reservation)
            }
        }
    }

    private mutating func dequeue(_ queue: Int, _ index: Int) {
        let waiter = queues[queue].remove(at: index)
        waitingCount -= 1
        waiter.reservation.peer.waitingBodyCount.change(by: -1)
    }

    // MARK: - Rules

    /// Whether somebody waits that comes before a body of this kind.
    private func hasWaiters(before kind: BodyKind) -> Bool {
        guard waitingCount > 0 else { return false }
        return queues[0...kind.rawValue].contains { !$0.isEmpty }
    }

    /// Whether a peer would have more than its part of `all` while others wait for some.
    private func isOverPart(_ count: Int, of all: Int, _ peer: Peer) -> Bool {
        count > all / Self.peerParts && waitingCount > peer.waitingBodyCount.now
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

    private mutating func grantSpool(to reservation: BodyReservation) -> Outcome {
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
