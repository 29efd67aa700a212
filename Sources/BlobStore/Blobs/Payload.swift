/// A part of a notification, or a blob, in place, borrowed from a ``Snapshot``, with which it ends.
public struct Payload: ~Escapable {
    private let reader: ChunkReader
    /// Which blob it is: a plain value, which may be kept.
    public let blob: BlobReference
    /// The media type, as UTF-8; empty for a blob found by its digest.
    public let mediaType: RawSpan
    /// From this moment on it is not found.
    public let expiresAt: Timestamp
    /// When the notification was first published; 1970 for a blob found by its digest.
    public let createdAt: Timestamp
    /// The notification's revision; 0 for a blob found by its digest.
    public let revision: UInt64

    @inline(__always)
    @_lifetime(copy reader, copy mediaType)
    init(_ reader: ChunkReader, blob: BlobReference, mediaType: RawSpan, record: RecordView) {
        self.reader = reader
        self.blob = blob
        self.mediaType = mediaType
        expiresAt = record.expiresAt
        createdAt = record.createdAt
        revision = record.revision
    }

    @_lifetime(copy reader)
    init(_ reader: ChunkReader, blob: BlobReference, expiresAt: Timestamp) {
        self.reader = reader
        self.blob = blob
        mediaType = RawSpan()
        self.expiresAt = expiresAt
        createdAt = Timestamp(milliseconds: 0)
        revision = 0
    }

    /// The SHA-256 of its bytes as given.
    public var digest: Digest { blob.digest }
    /// Bytes as given.
    public var byteCount: Int { blob.byteCount }
    /// Bytes as stored: the sum of what ``storedChunk(_:)`` returns.
    public var storedByteCount: Int { blob.storedByteCount }
    /// How they are stored.
    public var coding: Coding { blob.coding }
    /// How many chunks the stored bytes are cut into; 0 for an empty payload.
    public var chunkCount: Int { blob.chunkCount }

    /// The stored bytes of chunk `index`, in place: at most ``StoreLimits/chunkByteCountMax``, all but the first of
    /// the same length. One lookup, no copy. Nothing is borrowed of a chunk that does not match its checksum.
    @inline(__always)
    @_lifetime(copy self)
    public func storedChunk(_ index: Int) throws(StoreError) -> RawSpan {
        precondition(index >= 0 && index < chunkCount, "no such chunk")
        return try reader.chunk(of: blob, at: index)
    }

    /// Calls `body` with the bytes as given, piece by piece. Those stored as given are borrowed in place; coded
    /// ones are inflated into a buffer of 64 KiB. May throw after some pieces: ``StoreError``, and what `body` throws.
    public func forEachPiece(_ body: (RawSpan) throws -> Void) throws {
        switch coding {
        case .identity:
            for index in 0..<chunkCount { try body(try storedChunk(index)) }
        case .gzip:
            let inflater = try Inflater(blob)
            var buffer: [UInt8] = []
            while true {
                buffer.removeAll(keepingCapacity: true)
                let count = try inflater.read(
                    from: reader, into: &buffer, byteCountMax: Inflater.pieceByteCount)
                if count == 0 { return }
                try body(buffer.span.bytes)
            }
        }
    }

    /// Inflates from the restart point before `range` to its end, and appends what lies in it.
    func appendInflated(_ range: Range<Int>, to bytes: inout [UInt8]) throws(StoreError) {
        guard !range.isEmpty else { return }
        let inflater = try Inflater(blob, before: range.lowerBound, reader)
        var buffer: [UInt8] = []
        var position = inflater.position
        while position < range.upperBound {
            buffer.removeAll(keepingCapacity: true)
            let count = try inflater.read(
                from: reader, into: &buffer, byteCountMax: Inflater.pieceByteCount)
            guard count > 0 else { return }
            let piece = (position..<position + count).clamped(to: range)
            if !piece.isEmpty {
                bytes.append(
                    contentsOf: buffer[piece.lowerBound - position..<piece.upperBound - position])
            }
            position += count
        }
    }
}

extension Payload {
    /// A copy of the bytes as given, or of a range of them. The dearer way: one copy, and the
    /// memory for it.
    public func ownedBytes(in range: Range<Int>? = nil) throws(StoreError) -> [UInt8] {
        let wanted = (range ?? 0..<byteCount).clamped(to: 0..<byteCount)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(wanted.count)
        switch coding {
        case .identity:
            var offset = wanted.lowerBound
            while offset < wanted.upperBound {
                let (index, start) = blob.chunkLocation(of: offset)
                let chunk = try storedChunk(index)
                let count = min(chunk.byteCount - start, wanted.upperBound - offset)
                chunk.extracting(start..<start + count).withUnsafeBytes {
                    bytes.append(contentsOf: $0)
                }
                offset += count
            }
        case .gzip:
            try appendInflated(wanted, to: &bytes)
        }
        return bytes
    }
}
