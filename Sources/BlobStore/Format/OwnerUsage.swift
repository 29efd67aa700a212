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

    /// Reads and checks a value.
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

    /// Adds a notification.
    mutating func add(_ byteCount: Int) {
        notifications += 1
        bytes += UInt64(byteCount)
    }

    /// The same after a change. A count that was wrong does not fall below 0, so that it keeps nobody
    /// from deleting; `verify` names it.
    func changed(notifications: Int, bytes: Int) -> OwnerUsage {
        var usage = OwnerUsage()
        usage.notifications = UInt64(max(0, Int(clamping: self.notifications) + notifications))
        usage.bytes = UInt64(max(0, Int(clamping: self.bytes) + bytes))
        return usage
    }
}
