internal import Bytes

/// That everything of an owner up to a revision was removed at once, without a tombstone for each:
/// devices that read its feed before must read the history anew. The value of a key
/// ``IndexKeys/mark(_:)``.
struct PurgeMarker: Equatable {
    /// Places in the feed before this one are refused.
    var revision: UInt64
    /// When its retention ends.
    var end: Timestamp

    private static let form = ValueForm("a purge marker", byteCount: 24, checksumAt: 16)

    init(revision: UInt64, end: Timestamp) {
        self.revision = revision
        self.end = end
    }

    /// Reads and checks a value.
    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        revision = value.integer(0)
        end = Timestamp(milliseconds: value.integer(8))
    }

    /// The value's 24 bytes under `key`.
    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: end.milliseconds)
        bytes.appendZeros(8)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}
