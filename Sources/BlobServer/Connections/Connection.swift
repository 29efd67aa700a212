import BlobProtocol
import BlobStore

/// A client's connection, as its worker knows it. It is small: buffers exist only while there is
/// something in them.
///
/// Only its worker's thread touches it, and no call changes a property while it is lent to it. Those
/// that every request needs are said to be so (`@exclusivity(unchecked)`): asking the runtime each
/// time took a sixth of the instructions of a short fetch.
final class Connection {
    /// The socket. It is closed when the connection is let go of.
    let socket: Socket
    let address: ConnectionAddress
    /// Who is at the other end.
    let peer: Peer
    var token: ConnectionToken { address.token }

    @exclusivity(unchecked) var session = Session()
    /// What is to be done with the input.
    @exclusivity(unchecked) var phase = Phase.head
    /// Input that was read and not used yet.
    @exclusivity(unchecked) var rest: [UInt8] = []
    /// Whether ``rest`` may begin with a whole request, which had to wait for the next turn.
    var hasUnreadRequests = false
    /// The peer sends no more.
    var hasInputEnded = false
    /// There may be input in the socket: the poller said so, and no read has found the end of it.
    var mayRead = false
    /// Behind what is in the socket is the end, so that a read must find that, too.
    var isEndNear = false
    /// The peer has closed both directions, and nobody reads what it is sent.
    var isHungUp = false

    /// What the socket has not taken yet.
    @exclusivity(unchecked) var output = OutputQueue()
    /// What it is counted for in its worker's ``AnswerMemory``.
    @exclusivity(unchecked) var heldByteCount = 0
    /// ``progress`` when it was last seen to move, and when that was; while it holds something.
    var lastProgress: (byteCount: Int, at: Instant)
    /// Holds the pages that were linked into the socket until the peer has read them, as
    /// ``sentByteCount`` counts.
    @exclusivity(unchecked) var inFlight: LeaseQueue
    /// Whether it may be sent payloads without a copy (``DrainSlots``).
    var hasDrainSlot = false
    /// Whether there was no slot for it, so that long payloads are copied into its socket. They take
    /// the kernel's memory there, so that it holds no more of them than others' sockets do.
    var lacksDrainSlot = false
    /// Whether its socket was made to hold more (`DaemonLimits.widenedSendBufferByteCount`).
    var isWidened = false
    /// The socket took no more when it was last written to.
    var isBlocked = false
    /// No further request is answered: close when the output is sent.
    var isEnding = false
    /// Nothing can be sent or read any more: drop it.
    var isBroken = false

    /// What the poller waits for.
    var interest = Poller.Interest.input
    /// Whether it is in the worker's line for another turn.
    var isInLine = false

    @exclusivity(unchecked) var deadline: Deadline
    var receivedByteCount = 0
    var sentByteCount = 0
    /// Input thrown away while lingering, in bytes.
    var lingeredByteCount = 0

    /// What a connection is busy with.
    enum Phase {
        /// A request's head is expected.
        case head
        /// A body is being received.
        case body(Upload)
        /// A body may be received once there is memory.
        case awaitingMemory(Upload)
        /// The writer has a change of this connection.
        case awaitingChange(PendingReply)
        /// The writer commits what it has acknowledged, so that a request can be answered.
        case awaitingCommit
        /// An owner's changes are waited for, or the end of the time for them.
        case awaitingFeed(FeedReader)
        /// An owner's changes are sent as they come.
        case streaming(FeedReader)
        /// A body is thrown away, so many more bytes of it.
        case skipping(UInt64)
        /// Everything is sent and said to be the last; input is thrown away until the peer hangs
        /// up.
        case lingering
        /// It is over and shut down, but the peer may still read pages that were linked into its
        /// queue: the socket tells when it has, so it is kept open until then.
        case draining
    }

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

    /// Whether something was asked that is not answered yet, or answered and not sent.
    var isBusy: Bool {
        if !output.isEmpty { return true }
        switch phase {
        case .head: return hasUnreadRequests
        case .lingering, .draining: return false
        case .body, .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .skipping:
            return true
        }
    }

    /// Whether input may be read.
    var takesInput: Bool {
        switch phase {
        case .head, .body, .skipping, .lingering: !hasInputEnded
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .draining:
            false
        }
    }

    /// Where it is in a feed, if that is what it is busy with.
    var feedReader: FeedReader? {
        switch phase {
        case .awaitingFeed(let reader), .streaming(let reader): reader
        default: nil
        }
    }

    /// What the client is being waited for, if anything.
    var awaited: Deadline.Kind {
        if !output.isEmpty { return .answer }
        switch phase {
        case .head: return rest.isEmpty ? .idle : .head
        case .body, .skipping: return .body
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .draining:
            return .ours
        case .lingering: return .linger
        }
    }

    /// Keeps a blob's pages, which were just linked into the socket, until the peer has read them.
    ///
    /// - Parameter blob: found in a snapshot that is open, or leased.
    func keepUntilRead(_ blob: BlobReference) {
        if inFlight.count >= DaemonLimits.inFlightLeaseCountMax { releaseRead() }
        inFlight.take(blob, until: sentByteCount)
    }

    /// Ends the leases of what the peer has read. The kernel counts at least the bytes that are
    /// unread (`SIOCOUTQ`), so what it does not count has been read.
    func releaseRead() {
        guard !inFlight.isEmpty else { return }
        inFlight.release(upTo: sentByteCount - socket.unreadByPeer)
    }

    /// Bytes in memory of what it was answered and its socket has not taken, and of the requests
    /// behind them.
    var unreadByteCount: Int {
        output.isEmpty ? 0 : output.byteCountInMemory + rest.count
    }

    /// Forgets what has not been sent. What has been is kept until it is read.
    func abandonOutput() {
        // The new leases before the old ones end: in between the blobs could be freed.
        for blob in output.linkedBlobs { keepUntilRead(blob) }
        output.removeAll()
    }

    /// Bytes that have moved in the direction that is waited for. What the kernel still holds has
    /// not reached the client.
    var progress: Int {
        awaited == .answer ? sentByteCount - socket.unreadByPeer : receivedByteCount
    }
}
