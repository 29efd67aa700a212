import BlobStore
import CLinux

/// Answers that a connection's socket has not taken yet: those of slow clients, and long ones.
struct OutputQueue {
    enum Piece {
        /// A copy of heads and small bodies, of which so many bytes are sent.
        case bytes([UInt8], sent: Int)
        case blob(BlobStream)
    }

    private var pieces: [Piece] = []

    var isBlocked = false

    var isEmpty: Bool { pieces.isEmpty }

    var state: ConnectionState.Output {
        pieces.isEmpty ? .empty : isBlocked ? .blocked : .queued
    }

    /// Bytes that it holds in memory. A blob's bytes are not among them.
    var byteCountInMemory: Int {
        var count = 0
        for piece in pieces {
            switch piece {
            case .bytes(let bytes, _): count += bytes.capacity
            case .blob(let stream): count += stream.byteCountInMemory
            }
        }
        return count
    }

    var first: Piece? { pieces.first }

    mutating func append(_ bytes: ArraySlice<UInt8>) {
        guard !bytes.isEmpty else { return }
        if case .bytes(var last, let sent) = pieces.last {
            pieces.removeLast()
            last.append(contentsOf: bytes)
            pieces.append(.bytes(last, sent: sent))
        } else {
            pieces.append(.bytes(Array(bytes), sent: 0))
        }
    }

    mutating func append(_ stream: BlobStream) {
        pieces.append(.blob(stream))
    }

    /// So many bytes of the first piece, which is `bytes`, have been sent.
    mutating func advance(_ count: Int) {
        guard case .bytes(let bytes, let sent) = pieces.first else { return }
        if sent + count < bytes.count {
            pieces[0] = .bytes(bytes, sent: sent + count)
        } else {
            removeFirst()
        }
    }

    mutating func removeFirst() {
        pieces.removeFirst()
        if pieces.isEmpty { pieces = [] }
    }

    /// The blobs whose pages may be in the peer's queue.
    var linkedBlobs: [BlobReference] {
        var linked: [BlobReference] = []
        for case .blob(let stream) in pieces where stream.isLinked { linked.append(stream.blob) }
        return linked
    }

    mutating func removeAll() {
        pieces = []
    }
}

/// Bytes of a blob that are still to be sent, at the client's pace. It holds a lease instead of a snapshot: a slow
/// client keeps this blob's pages, and no other old pages of the store.
final class BlobStream {
    let blob: BlobReference
    /// They count stored bytes or, of an inflated blob, bytes as given.
    private(set) var position: Int
    let end: Int
    let isLinked: Bool
    /// Whether the blob is gzip-coded and sent as it was given.
    let isInflated: Bool
    private var inflater: Inflater?
    /// Inflated bytes that the socket has not taken yet, and how many of them it has.
    private(set) var inflated: [UInt8] = []
    private(set) var inflatedSent = 0

    private let lease: Lease

    /// Takes the lease in `snapshot`, in which the blob was found.
    init(_ range: StoredRange, isLinked: Bool, in snapshot: borrowing Snapshot) {
        blob = range.blob
        self.isLinked = isLinked
        position = range.from
        end = range.upTo
        isInflated = false
        lease = snapshot.lease(range.blob)
    }

    init(
        inflating blob: BlobReference, from: Int, upTo: Int, in snapshot: borrowing Snapshot
    ) {
        self.blob = blob
        position = from
        end = upTo
        isLinked = false
        isInflated = true
        lease = snapshot.lease(blob)
    }

    var isAtEnd: Bool { position >= end }

    var byteCountInMemory: Int {
        inflated.capacity + (inflater == nil ? 0 : Inflater.memoryByteCount)
    }

    /// Inflates a piece: bytes before the next one to be sent, which are thrown away, or the next ones. Returns how
    /// many; 0 when there are inflated bytes to be sent.
    func inflate(in snapshot: borrowing Snapshot) throws(StoreError) -> Int {
        guard isInflated, inflatedSent == inflated.count else { return 0 }
        let inflater: Inflater
        if let begun = self.inflater {
            inflater = begun
        } else {
            inflater = try Inflater(blob, before: position, in: snapshot)
            self.inflater = inflater
        }
        if inflater.position < position {
            let count = min(position - inflater.position, Inflater.pieceByteCount)
            try inflater.skip(count, from: snapshot)
            return count
        }
        inflated.removeAll(keepingCapacity: true)
        inflatedSent = 0
        let wanted = min(Inflater.pieceByteCount, end - position)
        let count = try inflater.read(from: snapshot, into: &inflated, byteCountMax: wanted)
        guard count > 0 else { throw .corrupt("\(blob.digest) ends too early") }
        if count == end - position { self.inflater = nil }
        return count
    }

    func advance(_ count: Int) {
        position += count
        if isInflated { inflatedSent += count }
    }
}

/// The pieces of one call that sends: addresses of bytes, which stay where they are until it is made.
struct PieceList: ~Copyable {
    // Allocated and freed here; the first `count` are initialised.
    private let pieces: UnsafeMutableBufferPointer<clinux_piece>
    private var count = 0
    private(set) var byteCount = 0

    /// An answer has a head and a chunk, or two chunks where a range begins in one and ends in the next.
    /// All further chunks of a batch are as many as its bytes fill, which is less than 16.
    private static let countMax = 3 * AnswerBatch.answerCountMax + 16

    init() {
        pieces = .allocate(capacity: Self.countMax)
    }

    deinit {
        pieces.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(count < pieces.count, "a batch has more pieces than it may")
        pieces[count] = clinux_piece(bytes: bytes.baseAddress, count: bytes.count)
        count += 1
        byteCount += bytes.count
    }

    mutating func send(to socket: borrowing Socket) -> Socket.Transfer {
        let listed = UnsafeBufferPointer(rebasing: pieces[0..<count])
        (count, byteCount) = (0, 0)
        guard listed.count == 1 else { return socket.send(listed) }
        return socket.send(
            UnsafeRawBufferPointer(start: listed[0].bytes, count: listed[0].count))
    }
}
