internal import CZlib

/// CRC-32 as zlib computes it (`crc32`).
struct Checksum: Equatable {
    var value: UInt32 = 0

    init() {}

    /// The checksum of `bytes`.
    init(_ bytes: RawSpan) { update(bytes) }

    /// Continues with `bytes`.
    @inline(__always)
    mutating func update(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { pointer in
            // zlib takes a null pointer for a wish to start over.
            guard pointer.count > 0 else { return }
            value = UInt32(
                truncatingIfNeeded: crc32_z(
                    UInt(value), pointer.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    pointer.count))
        }
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
