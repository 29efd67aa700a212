import BlobStore

/// What a connection has been answered but its socket has not taken yet. Empty for all but slow
/// clients and long answers.
struct OutputQueue {
    /// A stretch of output.
    enum Piece {
        /// Heads and small bodies: a copy, of which so many bytes are sent.
        case bytes([UInt8], sent: Int)
        /// Bytes of a blob, which stay in the store.
        case blob(BlobStream)
    }

    private var pieces: [Piece] = []

    /// The socket took no more when it was last written to.
    var isBlocked = false

    var isEmpty: Bool { pieces.isEmpty }

    var state: ConnectionState.Output {
        pieces.isEmpty ? .empty : isBlocked ? .blocked : .queued
    }

    /// Bytes that are held in memory for it; a blob's own are not.
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

    /// What is to be sent next.
    var first: Piece? { pieces.first }

    /// Adds bytes behind everything else.
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

    /// Adds bytes of a blob behind everything else.
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

    /// The first piece is sent.
    mutating func removeFirst() {
        pieces.removeFirst()
        // A connection that is quiet again keeps no memory.
        if pieces.isEmpty { pieces = [] }
    }

    /// The blobs of which pages may be with the peer.
    var linkedBlobs: [BlobReference] {
        var linked: [BlobReference] = []
        for case .blob(let stream) in pieces where stream.isLinked { linked.append(stream.blob) }
        return linked
    }

    /// Forgets everything, and ends its leases.
    mutating func removeAll() {
        pieces = []
    }
}

/// Bytes of a blob that are still to be sent, at the client's pace.
///
/// It holds a lease instead of a snapshot: however slow the client is, the store's old pages are
/// not kept from being used again, but for this blob's own.
final class BlobStream {
    /// Which blob.
    let blob: BlobReference
    /// The next byte to send and the one to stop at, in stored bytes; of an inflated blob, in bytes
    /// as given.
    private(set) var position: Int
    let end: Int
    /// Whether its bytes leave without being copied.
    let isLinked: Bool
    /// Whether it is a gzip-coded blob that the client wants as it was given.
    let isInflated: Bool
    /// There while it is needed: from the first byte that is inflated to the last.
    private var inflater: Inflater?
    /// Inflated bytes that the socket has not taken yet, and how many of them it has.
    private(set) var inflated: [UInt8] = []
    private(set) var inflatedSent = 0

    private let lease: Lease

    /// Takes the lease, which must be done while `snapshot`, in which the blob was found, is open.
    init(_ range: StoredRange, isLinked: Bool, in snapshot: borrowing Snapshot) {
        blob = range.blob
        self.isLinked = isLinked
        position = range.from
        end = range.upTo
        isInflated = false
        lease = snapshot.lease(range.blob)
    }

    /// The same for bytes as given of a blob that is to be inflated.
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

    /// Bytes that it holds in memory.
    var byteCountInMemory: Int {
        inflated.capacity + (inflater == nil ? 0 : Inflater.memoryByteCount)
    }

    /// Inflates a piece: of what is not wanted, where there is such before the next byte, or the
    /// next ones to be sent, where all before have been.
    ///
    /// - Returns: how many bytes were inflated; 0 when there are some to be sent.
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

    /// So many bytes have been sent.
    func advance(_ count: Int) {
        position += count
        if isInflated { inflatedSent += count }
    }
}
