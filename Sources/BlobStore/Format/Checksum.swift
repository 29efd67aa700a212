internal import Bytes
internal import CChecksum

/// CRC-32 as zlib computes it (`crc32`).
struct Checksum: Equatable {
    var value: UInt32 = 0

    init() {}

    init(_ bytes: RawSpan) { update(bytes) }

    /// Of a key and the bytes under it, so that what stands in another's place does not pass.
    init(key: RawSpan, _ bytes: RawSpan) {
        update(key)
        update(bytes)
    }

    @inline(__always)
    mutating func update(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { value = cchecksum_crc32(value, $0.baseAddress, $0.count) }
    }
}
