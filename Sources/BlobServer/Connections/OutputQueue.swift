import BlobStore
import CLinux

/// Answers that a connection's socket has not accepted yet: those of slow clients, and long ones.
struct OutputQueue {
    enum Piece {
        /// A copy of heads and small bodies, and how many of its bytes are sent.
        case bytes([UInt8], sent: Int)
        case blob(BlobStream)
    }

    private var pieces: [Piece] = []

    var isBlocked = false

    var isEmpty: Bool { pieces.isEmpty }

    var state: ConnectionState.Output {
        pieces.isEmpty ? .empty : isBlocked ? .blocked : .queued
    }

    /// Bytes held in memory, without those of blobs.
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

    /// Notes that `count` more bytes of the first piece, which is `bytes`, were sent.
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

    /// The blobs whose pages may be in the socket's queue.
    var linkedBlobs: [BlobReference] {
        var linked: [BlobReference] = []
        for case .blob(let stream) in pieces where stream.isLinked { linked.append(stream.blob) }
        return linked
    }

    mutating func removeAll() {
        pieces = []
    }
}

/// Bytes of a blob still to be sent, at the client's pace. It holds a lease instead of a snapshot: a slow client keeps
/// only this blob's pages from being reused.
final class BlobStream {
    let blob: BlobReference
    /// In stored bytes or, of an inflated blob, in bytes as given.
    private(set) var position: Int
    let end: Int
    let isLinked: Bool
    /// Whether a gzip-coded blob is inflated before it is sent.
    let isInflated: Bool
    private var inflater: Inflater?
    /// Inflated bytes that the socket has not accepted yet, and how many it has.
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

    /// Inflates a piece: the next bytes to be sent, or earlier ones, which are discarded. Returns how many bytes, 0
    /// while inflated bytes are unsent.
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
        guard count > 0 else { throw .corrupt("\(blob.digest) is truncated") }
        if count == end - position { self.inflater = nil }
        return count
    }

    func advance(_ count: Int) {
        position += count
        if isInflated { inflatedSent += count }
    }
}

/// The pieces of one sending call: addresses of bytes, which must stay in place until the call.
struct PieceList: ~Copyable {
    // Allocated and freed here; the first `count` elements are initialised.
    private let pieces: UnsafeMutableBufferPointer<clinux_piece>
    private var count = 0
    private(set) var byteCount = 0

    /// An answer has a head and a chunk, or two chunks if a range crosses from one into the next. All further chunks of
    /// a batch are as many as fit into its bytes, fewer than 16.
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
