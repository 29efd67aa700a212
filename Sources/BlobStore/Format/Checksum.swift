internal import CChecksum
internal import CZlib

/// CRC-32 as zlib computes it (`crc32`).
struct Checksum: Equatable {
    var value: UInt32 = 0

    init() {}

    /// The checksum of `bytes`.
    init(_ bytes: RawSpan) { update(bytes) }

    /// The checksum of a key and the bytes that are kept under it, so that what stands in another's
    /// place does not pass.
    init(key: RawSpan, _ bytes: RawSpan) {
        update(key)
        update(bytes)
    }

    /// Continues with `bytes`.
    @inline(__always)
    mutating func update(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { value = cchecksum_crc32(value, $0.baseAddress, $0.count) }
    }

    /// The checksum of what this one covers followed by `byteCount` bytes that `other` covers
    /// (`crc32_combine`), without reading them again.
    func followed(by other: Checksum, byteCount: Int) -> Checksum {
        var combined = Checksum()
        combined.value = UInt32(
            truncatingIfNeeded: crc32_combine(UInt(value), UInt(other.value), Int(byteCount)))
        return combined
    }
}
