import BlobProtocol
import BlobStore
import Synchronization

/// A client's connection, as its worker knows it. Only its worker's thread uses it. No call changes a property while
/// it borrows it, so those that every request needs are not checked for it: the checks took a sixth of the
/// instructions of a short fetch.
final class Connection {
    /// Leases for what its peer may not have read. With more, it asks the kernel how far the peer is.
    private static let inFlightLeaseCountMax = 16

    let socket: Socket
    let address: ConnectionAddress
    let peer: Peer
    var token: ConnectionToken { address.token }

    @exclusivity(unchecked) var session = Session()
    @exclusivity(unchecked) var state = ConnectionState()
    @exclusivity(unchecked) var rest: [UInt8] = []

    @exclusivity(unchecked) var output = OutputQueue()
    /// Bytes that its worker's ``AnswerMemory`` counts for it.
    @exclusivity(unchecked) var heldByteCount = 0
    /// ``progress`` when it last moved, and when that was. Noted while ``heldByteCount`` is not 0.
    var lastProgress: (byteCount: Int, at: Instant)
    /// Holds pages that were linked into the socket until the peer has read them (``sentByteCount``).
    @exclusivity(unchecked) var inFlight: LeaseQueue
    @exclusivity(unchecked) var drainSlot = DrainSlot.none
    /// Whether its socket was made to hold more (`Socket.widenedByteCount`).
    var isWidened = false

    @exclusivity(unchecked) var deadline: Deadline
    var receivedByteCount = 0
    var sentByteCount = 0
    /// Input thrown away while lingering, in bytes.
    var lingeredByteCount = 0

    init(
        _ socket: consuming Socket, address: ConnectionAddress, peer: Peer, store: BlobStore,
        now: Instant
    ) {
        self.socket = socket
        self.peer = peer
        inFlight = LeaseQueue(of: store)
        self.address = address
        deadline = Deadline(now: now)
        lastProgress = (0, now)
    }

    var awaited: Deadline.Kind { state.awaited(output: output.state) }

    var mayAnswer: Bool { state.mayAnswer(output: output.state) }

    /// Keeps a blob's pages, which were just linked into the socket, until the peer has read them.
    func keepUntilRead(_ blob: BlobReference) {
        if inFlight.count >= Self.inFlightLeaseCountMax { releaseRead() }
        inFlight.take(blob, until: sentByteCount)
    }

    /// Ends the leases of what the peer has read. The kernel counts at least the bytes that are
    /// unread (`SIOCOUTQ`), so what it does not count has been read.
    func releaseRead() {
        guard !inFlight.isEmpty else { return }
        inFlight.release(upTo: sentByteCount - socket.unreadByPeer)
    }

    /// Bytes in memory of answers that its socket has not taken, and of the requests behind them.
    var unreadByteCount: Int {
        output.isEmpty ? 0 : output.byteCountInMemory + rest.count
    }

    /// Forgets what has not been sent. What was sent is kept until it is read.
    func abandonOutput() {
        // The new leases begin before the old ones end. Else the blobs could be freed in between.
        for blob in output.linkedBlobs { keepUntilRead(blob) }
        output.removeAll()
    }

    /// Bytes that have moved in the direction that is waited for, but not those that the kernel still holds.
    var progress: Int {
        awaited == .answer ? sentByteCount - socket.unreadByPeer : receivedByteCount
    }
}

/// Limits how many connections may drain at once. A connection takes a slot before it is sent payloads without a
/// copy, and releases it when its peer has read them. If it ends before that it must be kept, so the descriptors of
/// slots are budgeted for.
final class DrainSlots: Sendable {
    /// The slots are cut into this many parts, of which a peer has one at most.
    private static let peerParts = 2

    let countMax: Int
    let peerCountMax: Int
    private let count = Atomic<Int>(0)

    init(countMax: Int) {
        self.countMax = countMax
        peerCountMax = max(1, countMax / Self.peerParts)
    }

    var takenCount: Int { count.now }

    func take(for peer: Peer) -> Bool {
        guard Self.take(count, upTo: countMax) else { return false }
        guard Self.take(peer.drainSlotCount, upTo: peerCountMax) else {
            count.change(by: -1)
            return false
        }
        return true
    }

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

enum DrainSlot {
    /// It has not asked since it had read everything.
    case none
    case taken
    /// Its payloads are copied into its socket, where they take the kernel's memory. So the socket holds no more than
    /// others do.
    case refused
}
