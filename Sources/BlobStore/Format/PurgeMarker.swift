internal import Bytes

/// That everything of an owner up to a revision was removed at once, without a tombstone for each:
/// devices that read its feed before must read the history anew. The value of a key
/// ``IndexKeys/mark(_:)``.
struct PurgeMarker: Equatable {
    /// Places in the feed before this one are refused.
    var revision: UInt64
    /// When its retention ends.
    var end: Timestamp

    static let byteCount = 24
    private static let checkedByteCount = 16

    init(revision: UInt64, end: Timestamp) {
        self.revision = revision
        self.end = end
    }

    /// Reads and checks a value.
    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        guard value.byteCount == Self.byteCount,
            value.integer(Self.checkedByteCount, as: UInt32.self)
                == Checksum(key: key, value.extracting(first: Self.checkedByteCount)).value
        else { throw .corrupt("a purge marker") }
        revision = value.integer(0)
        end = Timestamp(milliseconds: value.integer(8))
    }

    /// The value's 24 bytes under `key`.
    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: end.milliseconds)
        bytes.append(littleEndian: Checksum(key: key.span.bytes, bytes.span.bytes).value)
        bytes.append(littleEndian: UInt32(0))
        return bytes
    }
}
