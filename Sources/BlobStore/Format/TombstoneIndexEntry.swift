internal import Bytes

/// Where the tombstone of an id stands among its owner's entries. The value of a key
/// ``IndexKeys/finder(_:id:)``.
struct TombstoneIndexEntry: Equatable {
    /// The tombstone's revision.
    var revision: UInt64

    static let byteCount = 16
    private static let checkedByteCount = 8

    init(revision: UInt64) { self.revision = revision }

    /// Reads and checks a value.
    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        guard value.byteCount == Self.byteCount,
            value.integer(Self.checkedByteCount, as: UInt32.self)
                == Checksum(key: key, value.extracting(first: Self.checkedByteCount)).value
        else { throw .corrupt("a tombstone index entry") }
        revision = value.integer(0)
    }

    /// The value's 16 bytes under `key`.
    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: Checksum(key: key.span.bytes, bytes.span.bytes).value)
        bytes.append(littleEndian: UInt32(0))
        return bytes
    }
}
