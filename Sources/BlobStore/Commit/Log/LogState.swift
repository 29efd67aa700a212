internal import Bytes
internal import LMDB

/// What `data.mdb` says of the log: the value `log` of the table `meta`.
///
/// Each commit of what is in the log writes it, so it says at any moment with which record the log
/// must begin. A log that does not was removed, emptied, or is another one. A store that was closed
/// in order says that no log is in use, and is opened without one.
struct LogState: Equatable, MetaValue {
    var id: LogID
    /// Whether the log may have changes that `data.mdb` has not.
    var isInUse: Bool
    /// The transaction of the record at the log's start; the next transaction's may have replaced it.
    var firstTransaction: UInt64

    static let name = "log"
    /// The key is the name.
    private static let form = ValueForm(
        "the entry \"log\" of data.mdb is damaged", byteCount: 40, checksumAt: 32)

    init(id: LogID, isInUse: Bool, firstTransaction: UInt64) {
        self.id = id
        self.isInUse = isInUse
        self.firstTransaction = firstTransaction
    }

    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: Self.name.utf8.span.bytes)
        id = LogID(high: value.integer(0), low: value.integer(8))
        firstTransaction = value.integer(16)
        switch value.integer(24, as: UInt32.self) {
        case 0: isInUse = false
        case 1: isInUse = true
        default: throw Self.form.damaged
        }
    }

    var value: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: id.high)
        bytes.append(littleEndian: id.low)
        bytes.append(littleEndian: firstTransaction)
        bytes.append(littleEndian: UInt32(isInUse ? 1 : 0))
        bytes.appendZeros(12)
        Self.form.seal(&bytes, key: Self.name.utf8.span.bytes)
        return bytes
    }
}

/// Which log belongs to a store. It is made anew whenever a process begins to log, and told to
/// nobody: bytes that somebody has published cannot be taken for a record where old ones lie behind
/// new ones in the log.
struct LogID: Equatable {
    let high: UInt64
    let low: UInt64

    static func random() -> LogID {
        LogID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
    }
}
