/// How the stored bytes of a blob are cut into chunks, and where in a chunk's value they begin. The
/// first byte of a blob's number says which layout it has.
///
/// The short chunk comes first because short bytes are copied with the head of an answer, in one
/// call, while whole pages are linked. The bytes of a long chunk begin 64 bytes into a page, a
/// cache line: whoever copies them out of the page copies whole lines.
enum ChunkLayout {
    /// Of blobs that programs of format versions 1 and 2 stored: the last chunk is the short one.
    case shortLast
    /// Of all others.
    case shortFirst

    /// The first blob number of the layout ``shortFirst``.
    static let firstShortFirstNumber: UInt64 = 1 << 56

    /// The checksum in front of the bytes.
    static let checksumByteCount = 4
    /// Checksum and reserved bytes in front of those of a long chunk: behind LMDB's page header of
    /// 16, the bytes begin at 64.
    static let alignedPrefixByteCount = 48
    /// From how many stored bytes on a chunk is a long one, which has pages of its own.
    static let alignedByteCountMin = 4_096

    @inline(__always)
    init(ofBlob number: UInt64) {
        self = number < Self.firstShortFirstNumber ? .shortLast : .shortFirst
    }

    private static let shortLastByteCountMax = 65_516

    /// The stored bytes of a chunk that is full. With what is in front of them, and LMDB's page
    /// header, they fill sixteen pages.
    @inline(__always)
    var byteCountMax: Int {
        switch self {
        case .shortLast: Self.shortLastByteCountMax
        case .shortFirst: StoreLimits.chunkByteCountMax
        }
    }

    /// How many chunks so many stored bytes are cut into.
    @inline(__always)
    func count(of storedByteCount: Int) -> Int {
        // Division by a constant is a multiplication, so each case has its own.
        switch self {
        case .shortLast:
            (storedByteCount + Self.shortLastByteCountMax - 1) / Self.shortLastByteCountMax
        case .shortFirst:
            (storedByteCount + StoreLimits.chunkByteCountMax - 1) / StoreLimits.chunkByteCountMax
        }
    }

    /// The bytes of the first chunk, when there are any.
    @inline(__always)
    private static func firstByteCount(of storedByteCount: Int) -> Int {
        (storedByteCount - 1) % StoreLimits.chunkByteCountMax + 1
    }

    /// How many stored bytes chunk `index` has.
    @inline(__always)
    func byteCount(at index: Int, of storedByteCount: Int) -> Int {
        switch self {
        case .shortLast: min(byteCountMax, storedByteCount - index * byteCountMax)
        case .shortFirst:
            index > 0 ? byteCountMax : Self.firstByteCount(of: storedByteCount)
        }
    }

    /// Where the bytes of chunk `index` begin.
    func start(of index: Int, in storedByteCount: Int) -> Int {
        switch self {
        case .shortLast: index * byteCountMax
        case .shortFirst:
            index == 0
                ? 0 : Self.firstByteCount(of: storedByteCount) + (index - 1) * byteCountMax
        }
    }

    /// Which chunk byte `offset` lies in, and where in it.
    @inline(__always)
    func place(of offset: Int, in storedByteCount: Int) -> (index: Int, start: Int) {
        switch self {
        case .shortLast:
            let (index, start) = offset.quotientAndRemainder(
                dividingBy: Self.shortLastByteCountMax)
            return (index, start)
        case .shortFirst:
            let first = Self.firstByteCount(of: storedByteCount)
            if offset < first { return (0, offset) }
            let (index, start) = (offset - first).quotientAndRemainder(
                dividingBy: StoreLimits.chunkByteCountMax)
            return (1 + index, start)
        }
    }

    /// How many bytes of a chunk's value come before its stored bytes.
    @inline(__always)
    func prefixByteCount(before byteCount: Int) -> Int {
        switch self {
        case .shortLast: Self.checksumByteCount
        case .shortFirst:
            byteCount < Self.alignedByteCountMin
                ? Self.checksumByteCount : Self.alignedPrefixByteCount
        }
    }

    /// The stored bytes in a chunk's value of that length; 0 when it is too short to have any.
    func byteCount(ofValue byteCount: Int) -> Int {
        let aligned = byteCount - Self.alignedPrefixByteCount
        if self == .shortFirst, aligned >= Self.alignedByteCountMin { return aligned }
        return max(0, byteCount - Self.checksumByteCount)
    }
}
