import Synchronization

/// Limits how many connections may drain at once.
///
/// A connection takes a slot before it is sent payloads without a copy, and releases it when its peer
/// has read them. A connection that ends before that must be kept (``ConnectionState/Phase/draining``).
/// So there are never more of those than slots, and their descriptors are budgeted for.
final class DrainSlots: Sendable {
    /// The slots are cut into this many parts, of which a peer has one at most.
    private static let peerParts = 2

    /// How many there are.
    let countMax: Int
    /// How many one peer may have.
    let peerCountMax: Int
    private let count = Atomic<Int>(0)

    init(countMax: Int) {
        self.countMax = countMax
        peerCountMax = max(1, countMax / Self.peerParts)
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

    /// Releases one.
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

/// Whether a connection may be sent payloads without a copy.
enum DrainSlot {
    /// It has not asked since it had read everything.
    case none
    /// It has a slot.
    case taken
    /// No slot was free. Its payloads are copied into its socket, where they take the kernel's memory.
    /// So the socket holds no more than others do.
    case refused
}
