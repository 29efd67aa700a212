import Synchronization

/// A user who is connected, and what all his connections have together. Limits for each peer are
/// counted here.
///
/// The bodies' counts change under ``BodyMemory``'s lock alone.
final class Peer: Sendable {
    /// The user's number (`SO_PEERCRED`).
    let userID: UInt32
    /// Memory that is reserved for his bodies, in bytes.
    let bodyByteCount = Atomic<Int>(0)
    /// Files that his bodies are spooled to.
    let spoolCount = Atomic<Int>(0)
    /// His bodies that wait for memory or a file.
    let waitingBodyCount = Atomic<Int>(0)
    /// His connections that may come to drain (``DrainSlots``).
    let drainSlotCount = Atomic<Int>(0)

    init(userID: UInt32) {
        self.userID = userID
    }
}

/// The peers that have connected, each once. One that has gone is kept: there are no more of them
/// than users who may connect.
struct PeerTable {
    private var peers: [UInt32: Peer] = [:]

    /// The peer with a user's number.
    mutating func peer(_ userID: UInt32) -> Peer {
        if let known = peers[userID] { return known }
        let peer = Peer(userID: userID)
        peers[userID] = peer
        return peer
    }
}

extension Atomic<Int> {
    /// The value, which its owner keeps in order by other means.
    var now: Int { load(ordering: .relaxed) }

    /// Adds to it; less than 0 takes away.
    func change(by difference: Int) { add(difference, ordering: .relaxed) }
}
