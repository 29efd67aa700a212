import Synchronization

/// How many connections may come to drain: a connection takes a slot before payloads are sent to it
/// without a copy, and gives it back when its peer has read them. So there are never more of those
/// that have ended and must be kept (``Connection/Phase/draining``), and their descriptors are
/// budgeted for.
final class DrainSlots: Sendable {
    /// How many there are.
    let countMax: Int
    /// How many one peer may have.
    let peerCountMax: Int
    private let count = Atomic<Int>(0)

    init(countMax: Int) {
        self.countMax = countMax
        peerCountMax = max(1, countMax / DaemonLimits.drainingPeerParts)
    }

    /// How many are taken.
    var takenCount: Int { count.now }

    /// Takes one.
    ///
    /// - Returns: false when all are taken, or all that the peer may have.
    func take(for peer: Peer) -> Bool {
        guard Self.take(count, upTo: countMax) else { return false }
        guard Self.take(peer.drainSlotCount, upTo: peerCountMax) else {
            count.change(by: -1)
            return false
        }
        return true
    }

    /// Gives one back.
    func release(for peer: Peer) {
        count.change(by: -1)
        peer.drainSlotCount.change(by: -1)
    }

    private static func take(_ count: borrowing Atomic<Int>, upTo max: Int) -> Bool {
        guard count.add(1, ordering: .relaxed).newValue > max else { return true }
        count.change(by: -1)
        return false
    }
}
