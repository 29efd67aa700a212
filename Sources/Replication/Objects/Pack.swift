internal import BlobStore
internal import Bytes

/// A pack: segments, fences included, one behind the other as they were in the log.
enum Pack {
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
            else { throw DamagedObject("has segments that do not follow one another") }
            segments.append(segment)
            offset += byteCount
        }
        guard segments.last?.head.number == range.upperBound else {
            throw DamagedObject("has other segments than its name says")
        }
        return segments
    }
}
