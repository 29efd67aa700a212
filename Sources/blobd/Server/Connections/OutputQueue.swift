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

    var isEmpty: Bool { pieces.isEmpty }

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
    /// Set for a gzip-coded blob that the client wants as it was given.
    let inflater: Inflater?
    /// Bytes as given, before the first wanted one, that are still to be inflated and left out.
    private(set) var unwantedByteCount = 0
    /// Inflated bytes that the socket has not taken yet, and how many of them it has.
    var inflated: [UInt8] = []
    var inflatedSent = 0

    private let lease: Lease

    /// Takes the lease, which must be done while `snapshot`, in which the blob was found, is open.
    init(_ range: StoredRange, isLinked: Bool, in snapshot: borrowing Snapshot) {
        blob = range.blob
        self.isLinked = isLinked
        position = range.from
        end = range.upTo
        inflater = nil
        lease = snapshot.lease(range.blob)
    }

    /// The same for a blob to be inflated, of which the bytes as given before `from` are left out.
    init(
        inflating blob: BlobReference, from: Int, upTo: Int, in snapshot: borrowing Snapshot
    ) throws(StoreError) {
        self.blob = blob
        position = from
        end = upTo
        isLinked = false
        inflater = try Inflater(blob)
        unwantedByteCount = from
        lease = snapshot.lease(blob)
    }

    var isAtEnd: Bool { position >= end }

    /// Inflates some of what is not wanted.
    ///
    /// - Returns: how many bytes that was; 0 when the next byte is a wanted one.
    func skip(in snapshot: borrowing Snapshot) throws(StoreError) -> Int {
        guard unwantedByteCount > 0, let inflater else { return 0 }
        let count = min(unwantedByteCount, Inflater.pieceByteCount)
        try inflater.skip(count, from: snapshot)
        unwantedByteCount -= count
        return count
    }

    /// So many bytes have been sent.
    func advance(_ count: Int) {
        position += count
    }
}
