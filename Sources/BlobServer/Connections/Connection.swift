import BlobProtocol
import BlobStore
import Synchronization

/// A client's connection. Only its worker's thread uses it. No call changes a property while it borrows that property,
/// so exclusivity checks are off for those that every request needs: they took a sixth of the instructions of a short
/// fetch.
final class Connection {
    /// With more leases for bytes that the peer may not have read, the connection asks the kernel how far the peer is.
    private static let inFlightLeaseCountMax = 16

    let socket: Socket
    let address: ConnectionAddress
    let peer: Peer
    var token: ConnectionToken { address.token }

    @exclusivity(unchecked) var session = Session()
    @exclusivity(unchecked) var state = ConnectionState()
    @exclusivity(unchecked) var rest: [UInt8] = []

    @exclusivity(unchecked) var output = OutputQueue()
    /// Bytes that the worker's ``AnswerMemory`` counts for this connection.
    @exclusivity(unchecked) var heldByteCount = 0
    /// When ``progress`` last changed, and its value then. Maintained while ``heldByteCount`` is not 0.
    var lastProgress: (byteCount: Int, at: Instant)
    /// Leases of pages that were linked into the socket. Each is held until the peer has read them (``sentByteCount``).
    @exclusivity(unchecked) var inFlight: LeaseQueue
    @exclusivity(unchecked) var drainSlot = DrainSlot.none
    /// Whether the socket's buffer was enlarged (`Socket.widenedByteCount`).
    var isWidened = false

    @exclusivity(unchecked) var deadline: Deadline
    var receivedByteCount = 0
    var sentByteCount = 0
    /// Input discarded while lingering, in bytes.
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

    /// Keeps the pages of a blob that was just linked into the socket until the peer has read them.
    func keepUntilRead(_ blob: BlobReference) {
        if inFlight.count >= Self.inFlightLeaseCountMax { releaseRead() }
        inFlight.take(blob, until: sentByteCount)
    }

    /// Ends the leases of what the peer has read. `SIOCOUTQ` never counts less than is unread, so bytes that it does
    /// not count have been read.
    func releaseRead() {
        guard !inFlight.isEmpty else { return }
        inFlight.release(upTo: sentByteCount - socket.unreadByPeer)
    }

    /// Bytes in memory of answers that the socket has not accepted, and of requests that follow one whose answer is
    /// not sent.
    var unreadByteCount: Int {
        output.isEmpty && !state.isWaiting ? 0 : output.byteCountInMemory + rest.count
    }

    /// Whether what it holds waits for its client: to read an answer, or in a feed. Requests that follow a change wait
    /// for the daemon.
    var isHeldByClient: Bool {
        if case .awaitingFeed = state.phase { return true }
        return !output.isEmpty
    }

    /// Discards unsent output. Pages that were sent are kept until they are read.
    func abandonOutput() {
        // The new leases begin before the old ones end, or the blobs could be freed in between.
        for blob in output.linkedBlobs { keepUntilRead(blob) }
        output.removeAll()
    }

    /// Bytes moved in the awaited direction, without those that the kernel still holds.
    var progress: Int {
        awaited == .answer ? sentByteCount - socket.unreadByPeer : receivedByteCount
    }
}

/// Limits how many connections may drain at once. A connection takes a slot before payloads are sent to it without a
/// copy, and releases it when its peer has read them. If it closes earlier, its socket has to stay open, so the
/// descriptors of all slots are budgeted for.
final class DrainSlots: Sendable {
    /// One peer may hold at most the slots divided by this.
    private static let peerParts = 2

    private let countMax: Atomic<Int>
    private let count = Atomic<Int>(0)

    init(countMax: Int) { self.countMax = Atomic(countMax) }

    /// Slots that are taken are kept.
    func change(countMax: Int) { self.countMax.store(countMax, ordering: .relaxed) }

    var takenCount: Int { count.now }

    func take(for peer: Peer) -> Bool {
        let countMax = countMax.now
        guard Self.take(count, upTo: countMax) else { return false }
        guard Self.take(peer.drainSlotCount, upTo: max(1, countMax / Self.peerParts)) else {
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
    /// The connection has not asked for a slot since its peer had read everything.
    case none
    case taken
    /// Payloads are copied into the socket and take the kernel's memory, so its buffer is not enlarged.
    case refused
}
