internal import Bytes

/// How much an owner has: the value of a key ``IndexKeys/usage(_:)``. It changes in the transaction that
/// changes what it counts. An owner without notifications has none.
struct OwnerUsage: Equatable {
    /// Notifications, those that have expired and are not removed yet included.
    var notifications: UInt64 = 0
    /// Bytes of all their parts, as given.
    var bytes: UInt64 = 0

    private static let form = ValueForm(
        "the usage of an owner", byteCount: 24, checksumAt: 16)

    init() {}

    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        notifications = value.integer(0)
        bytes = value.integer(8)
        guard notifications > 0, notifications <= StoreLimits.counterMax,
            bytes <= StoreLimits.counterMax
        else { throw Self.form.damaged }
    }

    /// The value's 24 bytes under `key`, as words in the order of their bytes.
    func words(key: RawSpan) -> InlineArray<3, UInt64> {
        var words: InlineArray<3, UInt64> = [notifications.littleEndian, bytes.littleEndian, 0]
        words[2] = UInt64(Self.form.checksum(of: words.span.bytes, key: key)).littleEndian
        return words
    }

    mutating func add(_ byteCount: Int) {
        notifications += 1
        bytes += UInt64(byteCount)
    }

    /// What it is after a change. A count that was wrong does not fall below 0, so that it keeps nobody
    /// from deleting; `verify` names it.
    func changed(notifications: Int, bytes: Int) -> OwnerUsage {
        var usage = OwnerUsage()
        usage.notifications = UInt64(max(0, Int(clamping: self.notifications) + notifications))
        usage.bytes = UInt64(max(0, Int(clamping: self.bytes) + bytes))
        return usage
    }
}

/// Where the tombstone of an id stands among its owner's entries. The value of a key
/// ``IndexKeys/finder(_:id:)``.
struct TombstoneIndexEntry: Equatable, IndexValue {
    var revision: UInt64

    private static let form = ValueForm(
        "a tombstone index entry", byteCount: 16, checksumAt: 8)

    init(revision: UInt64) { self.revision = revision }

    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        revision = value.integer(0)
    }

    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.appendZeros(8)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}

/// That everything of an owner up to a revision was removed at once, without a tombstone for each:
/// devices that read its feed before must read the history anew. The value of a key
/// ``IndexKeys/mark(_:)``.
struct PurgeMarker: Equatable, IndexValue {
    /// Places in the feed before this one are refused.
    var revision: UInt64
    var end: Timestamp

    private static let form = ValueForm("a purge marker", byteCount: 24, checksumAt: 16)

    init(revision: UInt64, end: Timestamp) {
        self.revision = revision
        self.end = end
    }

    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        revision = value.integer(0)
        end = Timestamp(milliseconds: value.integer(8))
    }

    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: end.milliseconds)
        bytes.appendZeros(8)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}
