internal import Bytes

/// That owners are yet to be told of a category's edit, and how far that is. The value of a key
/// ``IndexKeys/categoryEdit(_:)``; it goes when all are told.
struct CategoryEditEntry: Equatable {
    /// The edit's.
    var revision: UInt64
    /// The id of the last notification that was looked at, as UTF-8; empty before the first.
    var lastID: [UInt8] = []

    private static let headerByteCount = 12
    private static let form = ValueForm(
        "a pending edit of a category",
        byteCounts: headerByteCount...headerByteCount + StoreLimits.idByteCountMax,
        checksumAt: 8, restAt: headerByteCount)

    init(revision: UInt64) { self.revision = revision }

    /// Reads and checks a value.
    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        revision = value.integer(0)
        lastID = value.extracting(droppingFirst: Self.headerByteCount).array()
    }

    /// The value under `key`.
    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: UInt32(0))
        bytes.append(contentsOf: lastID)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}
