internal import BlobStore
internal import Bytes

/// A pack: segments, fences included, one after the other as they were in the log.
enum Pack {
    static let byteCountMax =
        ReplicationLimits.packByteCount + ReplicationLimits.segmentByteCountMax

    /// Reads a pack, and checks each segment and the chain that they form.
    static func segments(
        _ bytes: [UInt8], _ range: ClosedRange<UInt64>
    ) throws(DamagedObject) -> [Segment] {
        var segments: [Segment] = []
        var offset = 0
        while offset < bytes.count {
            let rest = bytes.span.bytes.extracting(droppingFirst: offset)
            guard let byteCount = Segment.byteCount(rest), byteCount <= rest.byteCount else {
                throw DamagedObject("ends inside a segment")
            }
            let segment = try Segment(Array(bytes[offset..<offset + byteCount]))
            guard segment.head.number == range.lowerBound + UInt64(segments.count),
                segments.last.map({ $0.position == segment.head.previous }) != false
            else { throw DamagedObject("contains segments that are not consecutive") }
            segments.append(segment)
            offset += byteCount
        }
        guard segments.last?.head.number == range.upperBound else {
            throw DamagedObject("contains segments that do not match its name")
        }
        return segments
    }

    static func segments(
        _ range: ClosedRange<UInt64>, on bucket: some Bucket
    ) throws(ReplicationError) -> [Segment]? {
        try bucket.read(ShardNames.pack(range), byteCountMax: byteCountMax) {
            (bytes) throws(DamagedObject) in try segments(bytes, range)
        }
    }

    /// - Parameter number: those whose segments are all before this one may be left out.
    static func ranges(
        reaching number: UInt64 = 0, on bucket: some Bucket
    ) throws(ReplicationError) -> [ClosedRange<UInt64>] {
        // No pack that reaches it begins earlier.
        let span = UInt64(ReplicationLimits.packSegmentCountMax)
        let first = ShardNames.packs(from: number > span ? number - span : 0)
        let names = try bucket.names(ShardNames.packPrefix, after: first)
        return names.compactMap(ShardNames.packRange)
    }
}
