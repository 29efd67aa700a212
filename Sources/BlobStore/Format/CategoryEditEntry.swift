internal import Bytes

/// That owners are yet to be told of a category's edit, and how far that is. The value of a key
/// ``IndexKeys/categoryEdit(_:)``; it goes when all are told.
struct CategoryEditEntry: Equatable {
    /// The edit's.
    var revision: UInt64
    /// The id of the last notification that was looked at, as UTF-8; empty before the first.
    var lastID: [UInt8] = []

    private static let headerByteCount = 12
    private static let checksumOffset = 8

    init(revision: UInt64) { self.revision = revision }

    /// Reads and checks a value.
    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        guard value.byteCount >= Self.headerByteCount,
            value.byteCount - Self.headerByteCount <= StoreLimits.idByteCountMax,
            value.integer(Self.checksumOffset, as: UInt32.self)
                == Self.checksum(key: key, value: value)
        else { throw .corrupt("a pending edit of a category") }
        revision = value.integer(0)
        lastID = value.extracting(Self.headerByteCount..<value.byteCount).array()
    }

    /// The value under `key`.
    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: UInt32(0))
        bytes.append(contentsOf: lastID)
        let checksum = Self.checksum(key: key.span.bytes, value: bytes.span.bytes)
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        target.store(checksum, at: Self.checksumOffset)
        return bytes
    }

    private static func checksum(key: RawSpan, value: RawSpan) -> UInt32 {
        var checksum = Checksum(key)
        checksum.update(value.extracting(0..<checksumOffset))
        checksum.update(value.extracting(headerByteCount..<value.byteCount))
        return checksum.value
    }
}
