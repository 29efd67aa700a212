internal import Bytes

/// Where inflating a gzip-coded blob may begin: at each MiB of the bytes as given. The points stand in the blob's
/// own gzip header, as an extra field (RFC 1952, section 2.3.1.1), which readers of gzip pass over.
///
///     OFFSET  SIZE  DESCRIPTION
///          0    10  the header, with the flag FEXTRA
///         10     2  bytes of the extra field: 4 + 8 × n
///         12     2  `bd`
///         14     2  8 × n
///         16   8×n  for each point the stored byte at which it begins
///
/// At a point deflate was flushed wholly (`Z_FULL_FLUSH`), so what follows refers to nothing before it. A blob as
/// short as one interval has none, and its header is not looked at.
struct RestartPoints {
    /// Bytes as given from one point to the next. More than ``StoreLimits/restartIntervalByteCount``
    /// only where there would be more points than an extra field takes, from 8 GiB on.
    let interval: Int
    /// How many there are; the beginning is none.
    let count: Int

    static let headerByteCount = 16
    static let pointByteCount = 8
    /// CRC and size at a gzip stream's end.
    static let trailerByteCount = 8
    private static let mark: [UInt8] = Array("bd".utf8)
    private static let countMax = (Int(UInt16.max) - 4) / pointByteCount

    init(byteCount: Int) {
        let last = max(0, byteCount - 1)
        var interval = StoreLimits.restartIntervalByteCount
        while last / interval > Self.countMax { interval *= 2 }
        self.interval = interval
        count = last / interval
    }

    private var end: Int { Self.headerByteCount + count * Self.pointByteCount }

    /// The extra field, with zeros for points.
    var emptyField: [UInt8] {
        let byteCount = UInt16(count * Self.pointByteCount)
        let length = [UInt8(truncatingIfNeeded: byteCount), UInt8(byteCount >> 8)]
        return Self.mark + length + [UInt8](repeating: 0, count: Int(byteCount))
    }

    /// The points as they stand at ``headerByteCount``.
    static func bytes(_ offsets: [Int]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(offsets.count * pointByteCount)
        for offset in offsets {
            var word = UInt64(offset).littleEndian
            withUnsafeBytes(of: &word) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    private func stands(in header: [UInt8]) -> Bool {
        guard header.count == Self.headerByteCount else { return false }
        let byteCount = count * Self.pointByteCount
        // The magic number, deflate, and FEXTRA alone.
        return header[0..<4].elementsEqual([0x1F, 0x8B, 8, 4])
            && Int(header[10]) + Int(header[11]) << 8 == byteCount + 4
            && header[12..<14].elementsEqual(Self.mark)
            && Int(header[14]) + Int(header[15]) << 8 == byteCount
    }

    /// The last point at or before a position in bytes as given, and its stored byte; nil where there is none. Two
    /// chunks are looked at.
    static func point(
        before position: Int, of blob: BlobReference, _ reader: ChunkReader
    ) throws(StoreError) -> (position: Int, storedOffset: Int)? {
        let points = RestartPoints(byteCount: blob.byteCount)
        let index = min(position / points.interval, points.count)
        guard index > 0, points.end < blob.storedByteCount,
            points.stands(in: try reader.storedBytes(of: blob, 0..<headerByteCount))
        else { return nil }
        let start = headerByteCount + (index - 1) * pointByteCount
        let word = try reader.storedBytes(of: blob, start..<start + pointByteCount)
        let offset = word.span.bytes.integer(0, as: UInt64.self)
        guard offset > points.end, offset < blob.storedByteCount - trailerByteCount else {
            throw .corrupt("restart point \(index) of \(blob.digest)")
        }
        return (index * points.interval, Int(offset))
    }
}

extension ChunkReader {
    /// A copy of a few stored bytes, from as many chunks as they lie in.
    fileprivate func storedBytes(
        of blob: BlobReference, _ range: Range<Int>
    ) throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < range.count {
            let (index, start) = blob.chunkLocation(of: range.lowerBound + bytes.count)
            let chunk = try chunk(of: blob, at: index)
            let count = min(chunk.byteCount - start, range.count - bytes.count)
            chunk.extracting(start..<start + count).withUnsafeBytes {
                bytes.append(contentsOf: $0)
            }
        }
        return bytes
    }
}
