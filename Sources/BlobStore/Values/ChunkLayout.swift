/// How the stored bytes of a blob are cut into chunks. The short one comes first because short bytes are copied
/// with the head of an answer, while whole pages are linked. The bytes of a long one begin 64 bytes into a page: a
/// copy out of it is one of whole cache lines.
enum ChunkLayout {
    static let checksumByteCount = 4
    /// Checksum and reserved bytes in front of those of a long chunk: after LMDB's page header of
    /// 16, the bytes begin at 64.
    static let alignedPrefixByteCount = 48
    /// From how many stored bytes on a chunk is a long one, which has pages of its own.
    static let alignedByteCountMin = 4_096
    /// The stored bytes of a chunk that is full. With what is in front of them, and LMDB's page
    /// header, they fill sixteen pages.
    static let byteCountMax = StoreLimits.chunkByteCountMax

    @inline(__always)
    static func count(of storedByteCount: Int) -> Int {
        (storedByteCount + byteCountMax - 1) / byteCountMax
    }

    @inline(__always)
    private static func firstByteCount(of storedByteCount: Int) -> Int {
        (storedByteCount - 1) % byteCountMax + 1
    }

    @inline(__always)
    static func byteCount(at index: Int, of storedByteCount: Int) -> Int {
        index > 0 ? byteCountMax : firstByteCount(of: storedByteCount)
    }

    static func start(of index: Int, in storedByteCount: Int) -> Int {
        index == 0 ? 0 : firstByteCount(of: storedByteCount) + (index - 1) * byteCountMax
    }

    @inline(__always)
    static func position(of offset: Int, in storedByteCount: Int) -> (index: Int, start: Int) {
        let first = firstByteCount(of: storedByteCount)
        if offset < first { return (0, offset) }
        let (index, start) = (offset - first).quotientAndRemainder(dividingBy: byteCountMax)
        return (1 + index, start)
    }

    @inline(__always)
    static func prefixByteCount(before byteCount: Int) -> Int {
        byteCount < alignedByteCountMin ? checksumByteCount : alignedPrefixByteCount
    }

    /// The stored bytes in a chunk's value of that length; 0 when it is too short to have any.
    static func byteCount(ofValue byteCount: Int) -> Int {
        let aligned = byteCount - alignedPrefixByteCount
        return aligned >= alignedByteCountMin ? aligned : max(0, byteCount - checksumByteCount)
    }
}
