internal import Glibc
internal import Zlib

/// Turns a gzip-coded blob back into its bytes as given, piece by piece, in about 48 KiB. It may continue in a
/// later snapshot: hold a ``Lease`` meanwhile. One thread at a time.
public final class Inflater {
    private let blob: BlobReference
    private let stream: ZStream
    /// Whether it began at a restart point, after the container's head.
    private let isRestarted: Bool
    /// Stored bytes that are used up.
    private var storedOffset: Int
    /// The next byte as given that is handed out.
    public private(set) var position: Int

    /// How many bytes one piece has at the most.
    public static let pieceByteCount = 64 << 10
    /// What zlib keeps for it, in bytes, about.
    public static let memoryByteCount = 48 << 10

    /// Begins at the first byte of a blob whose coding is gzip.
    public convenience init(_ blob: BlobReference) throws(StoreError) {
        try self.init(blob, position: 0, storedOffset: 0)
    }

    /// Begins at the last restart point at or before `position`; at the first byte where the blob has none.
    /// ``position`` says where.
    public convenience init(
        _ blob: BlobReference, before position: Int, in snapshot: borrowing Snapshot
    ) throws(StoreError) {
        try self.init(blob, before: position, ChunkReader(snapshot))
    }

    convenience init(
        _ blob: BlobReference, before position: Int, _ reader: ChunkReader
    ) throws(StoreError) {
        let point = try RestartPoints.point(before: position, of: blob, reader)
        try self.init(
            blob, position: point?.position ?? 0, storedOffset: point?.storedOffset ?? 0)
    }

    private init(
        _ blob: BlobReference, position: Int, storedOffset: Int
    ) throws(StoreError) {
        precondition(blob.coding == .gzip, "not a gzip-coded blob")
        self.blob = blob
        self.position = position
        self.storedOffset = storedOffset
        isRestarted = position > 0
        do throws(ZStream.NoMemory) {
            stream = try ZStream(inflating: isRestarted ? .none : .gzip)
        } catch {
            throw .io(operation: "inflateInit2", errno: 12)
        }
    }

    /// Appends up to `byteCountMax` bytes as given to `buffer`. Returns how many; 0 at the end only.
    public func read(
        from snapshot: borrowing Snapshot, into buffer: inout [UInt8], byteCountMax: Int
    ) throws(StoreError) -> Int {
        try read(from: ChunkReader(snapshot), into: &buffer, byteCountMax: byteCountMax)
    }

    /// Leaves out the next `byteCount` bytes as given. It still has to inflate them.
    public func skip(_ byteCount: Int, from snapshot: borrowing Snapshot) throws(StoreError) {
        var left = byteCount
        var buffer: [UInt8] = []
        while left > 0 {
            buffer.removeAll(keepingCapacity: true)
            let count = try read(
                from: snapshot, into: &buffer, byteCountMax: min(left, Self.pieceByteCount))
            guard count > 0 else { return }
            left -= count
        }
    }

    func read(
        from reader: ChunkReader, into buffer: inout [UInt8], byteCountMax: Int
    ) throws(StoreError) -> Int {
        let wanted = min(byteCountMax, blob.byteCount - position)
        if wanted <= 0 {
            try finish(reader)
            return 0
        }
        let start = buffer.count
        buffer.append(addingCapacity: wanted) { room in
            room.withUnsafeMutableBufferPointer { bytes, count in
                // There is room for as many bytes as were asked for.
                memset(bytes.baseAddress!, 0, wanted)
                count = wanted
            }
        }
        var filled = 0
        while filled < wanted {
            let produced: Int
            do throws(StoreError) {
                produced = try step(reader, &buffer, at: start + filled, count: wanted - filled)
            } catch {
                buffer.removeLast(wanted)
                throw error
            }
            filled += produced
        }
        position += wanted
        return wanted
    }

    /// One call of `inflate`: from what is left of the current chunk into `count` bytes of
    /// `buffer`.
    private func step(
        _ reader: ChunkReader, _ buffer: inout [UInt8], at offset: Int, count: Int
    ) throws(StoreError) -> Int {
        guard storedOffset < blob.storedByteCount else {
            throw .corrupt("\(blob.digest) is truncated")
        }
        let (index, used) = blob.chunkLocation(of: storedOffset)
        let chunk = try reader.chunk(of: blob, at: index)
        let input = chunk.extracting(used..<chunk.byteCount)
        let (outcome, consumed, produced) = stream.run(
            input, into: &buffer, at: offset, count: count)
        storedOffset += consumed
        guard outcome == .continues || outcome == .ended || outcome == .stalled,
            produced > 0 || consumed > 0, outcome != .ended || produced == count
        else { throw .corrupt("\(blob.digest) does not inflate") }
        return produced
    }

    /// At the end the container must end too, and its own checksum agree, unless its beginning was
    /// left out.
    private func finish(_ reader: ChunkReader) throws(StoreError) {
        guard position == blob.byteCount else { return }
        let trailerByteCount = isRestarted ? RestartPoints.trailerByteCount : 0
        var rest: [UInt8] = [0]
        while storedOffset < blob.storedByteCount - trailerByteCount {
            let (index, used) = blob.chunkLocation(of: storedOffset)
            let chunk = try reader.chunk(of: blob, at: index)
            let (outcome, consumed, produced) = stream.run(
                chunk.extracting(used..<chunk.byteCount), into: &rest, count: 1)
            storedOffset += consumed
            guard produced == 0, consumed > 0, outcome == .ended || outcome == .continues
            else {
                throw .corrupt("\(blob.digest) is too long")
            }
        }
    }
}
