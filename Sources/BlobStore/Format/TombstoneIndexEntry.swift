internal import Bytes

/// Where the tombstone of an id stands among its owner's entries. The value of a key
/// ``IndexKeys/finder(_:id:)``.
struct TombstoneIndexEntry: Equatable {
    /// The tombstone's revision.
    var revision: UInt64

    private static let form = ValueForm(
        "a tombstone index entry", byteCount: 16, checksumAt: 8)

    init(revision: UInt64) { self.revision = revision }

    /// Reads and checks a value.
    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        revision = value.integer(0)
    }

    /// The value's 16 bytes under `key`.
    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.appendZeros(8)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}
