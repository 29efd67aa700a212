internal import Bytes
internal import LMDB

/// The head of a record of the log (`docs/FORMAT.md`). After it come the operations of one batch
/// (``OperationBuffer``), and zeros up to the next page. A record counts while its transaction is the one after
/// the last commit.
struct LogRecord: Equatable {
    static let byteCount = 64
    /// Records begin at multiples of this, so that writing one never touches bytes of another.
    static let alignment = 4_096
    static let magic = Array("blobdlog".utf8)
    /// The version of the layout; and that of records of blobd 0.2.0, of which long values are elsewhere.
    private static let version: UInt32 = 1
    private static let versionWithPlaces: UInt32 = 2
    private static let checkedFrom = 16

    /// Which log it is in. A log has a new one whenever a process begins to log, and nobody is told it: bytes that
    /// somebody has published cannot be taken for a record where old ones lie after new ones.
    var logID: Nonce
    /// The LMDB transaction that its changes belong to.
    var transaction: UInt64
    /// Its place among the records of that transaction, from 0.
    var index: UInt32
    var operationCount: UInt32
    var operationByteCount: Int
    /// The changes that were acknowledged with it.
    var changeCount: UInt32 = 0
    var kind = Kind.changes
    /// Whether only the program that wrote it can read its operations.
    private(set) var isOfEarlierVersion = false

    enum Kind: UInt32 {
        /// A batch of changes.
        case changes
        /// The first one of a log that is new: it has no operations.
        case begun
        /// All that was in the log is committed, and its writer has ended. It has no operations.
        case ended
    }

    var paddedByteCount: Int { Self.padded(Self.byteCount + operationByteCount) }

    static func padded(_ byteCount: Int) -> Int {
        (byteCount + alignment - 1) / alignment * alignment
    }

}

extension LogRecord {
    /// Reads a head, whose checksum is not looked at; nil when it is none.
    init?(_ bytes: RawSpan, byteCountMax: Int) {
        guard bytes.byteCount >= Self.byteCount,
            bytes.extracting(first: 8).equals(Self.magic.span.bytes),
            case let version = bytes.integer(8, as: UInt32.self),
            version == Self.version || version == Self.versionWithPlaces,
            let count = Int(exactly: bytes.integer(48, as: UInt64.self)),
            count <= byteCountMax - Self.byteCount,
            let kind = Kind(rawValue: bytes.integer(60))
        else { return nil }
        changeCount = bytes.integer(56)
        self.kind = kind
        isOfEarlierVersion = version == Self.versionWithPlaces
        logID = bytes.words(16)
        transaction = bytes.integer(32)
        index = bytes.integer(40)
        operationCount = bytes.integer(44)
        operationByteCount = count
    }

    /// Whether `record`, head and operations, is what was written.
    static func isWhole(_ record: RawSpan) -> Bool {
        record.integer(12, as: UInt32.self)
            == Checksum(record.extracting(droppingFirst: checkedFrom)).value
    }

    /// Writes the head, and the checksum of everything after it, into `record`: head, operations
    /// and zeros.
    func write(into target: inout MutableRawSpan) {
        let end = Self.byteCount + operationByteCount
        target.store(Self.magic.span.bytes, at: 0)
        target.store(Self.version, at: 8)
        target.store(logID.high, at: 16)
        target.store(logID.low, at: 24)
        target.store(transaction, at: 32)
        target.store(index, at: 40)
        target.store(operationCount, at: 44)
        target.store(UInt64(operationByteCount), at: 48)
        target.store(changeCount, at: 56)
        target.store(kind.rawValue, at: 60)
        let checksum = Checksum(target.bytes.extracting(Self.checkedFrom..<end))
        target.store(checksum.value, at: 12)
    }
}

/// The value `log` of the table `meta`. Each commit of what is in the log writes it, so it says with which record
/// the log must begin. One that does not was removed, emptied, or is another one.
struct LogState: Equatable {
    var id: Nonce
    /// Whether the log may have changes that `data.mdb` has not.
    var isInUse: Bool
    /// The transaction of the record at the log's start; the next transaction's may have replaced it.
    var firstTransaction: UInt64
}

extension LogState: MetaValue {
    static let name = "log"
    /// The key is the name.
    private static let form = ValueForm(
        "the entry \"log\" of data.mdb is damaged", byteCount: 40, checksumAt: 32)

    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: Self.name.utf8.span.bytes)
        id = value.words(0)
        firstTransaction = value.integer(16)
        switch value.integer(24, as: UInt32.self) {
        case 0: isInUse = false
        case 1: isInUse = true
        default: throw Self.form.damaged
        }
    }

    var value: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(words: id)
        bytes.append(littleEndian: firstTransaction)
        bytes.append(littleEndian: UInt32(isInUse ? 1 : 0))
        bytes.appendZeros(12)
        Self.form.seal(&bytes, key: Self.name.utf8.span.bytes)
        return bytes
    }
}
