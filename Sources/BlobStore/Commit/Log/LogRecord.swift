internal import Bytes
internal import LMDB

/// The head of a record of the log (`docs/FORMAT.md`). After it come the operations of one batch
/// (``OperationBuffer``), and zeros up to the next page. A record counts while its transaction is one of the two after
/// the last commit.
struct LogRecord: Equatable {
    static let byteCount = 64
    /// Records begin at multiples of this, so that writing one never touches bytes of another.
    static let alignment = 4_096
    static let magic = Array("blobdlog".utf8)
    /// The version of the layout. Earlier ones are blobd 0.2.0's, which is to read them.
    private static let version: UInt32 = 3
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
    /// How many records there are of the transaction before, where that was not committed when this was written: in
    /// the other area, whole, since it is written after them.
    var recordCountBefore: UInt32 = 0
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
            1...Self.version ~= version,
            case let count = Int(bytes.integer(48, as: UInt32.self)),
            count <= byteCountMax - Self.byteCount,
            let kind = Kind(rawValue: bytes.integer(60))
        else { return nil }
        changeCount = bytes.integer(56)
        self.kind = kind
        isOfEarlierVersion = version < Self.version
        logID = bytes.words(16)
        transaction = bytes.integer(32)
        index = bytes.integer(40)
        operationCount = bytes.integer(44)
        operationByteCount = count
        recordCountBefore = bytes.integer(52)
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
        target.store(UInt32(operationByteCount), at: 48)
        target.store(recordCountBefore, at: 52)
        target.store(changeCount, at: 56)
        target.store(kind.rawValue, at: 60)
        let checksum = Checksum(target.bytes.extracting(Self.checkedFrom..<end))
        target.store(checksum.value, at: 12)
    }
}

/// The value `log` of the table `meta`. Each commit of what is in the log writes it, so it says with which record
/// each area of the log must begin. One that does not was removed, emptied, or is another one.
struct LogState: Equatable {
    var id: Nonce
    /// Whether the log may have changes that `data.mdb` has not.
    var isInUse: Bool
    /// The transaction of the record at the start of each area; a later one's may have replaced it.
    var first: LogFirst
}

/// The transactions of the records that the areas of a log begin with. A transaction's records are in the first area
/// where its number is even, else in the second.
struct LogFirst: Equatable {
    private var even: UInt64
    private var odd: UInt64

    /// Both areas begin with the same one, which has no records yet.
    init(_ transaction: UInt64) { (even, odd) = (transaction, transaction) }

    fileprivate init(last: UInt64, distance: UInt32) {
        self.init(last)
        if distance > 0 { self[last + 1] = last &- UInt64(distance) }
    }

    /// Of the area that the records of a transaction come into.
    subscript(transaction: UInt64) -> UInt64 {
        get { transaction % 2 == 0 ? even : odd }
        set { if transaction % 2 == 0 { even = newValue } else { odd = newValue } }
    }

    /// Whether an area may begin with a record of `begin` while the next record in it is to be one of `next`. One that
    /// no record has come into for 2³² transactions may begin with anything earlier.
    func allows(_ begin: UInt64, before next: UInt64) -> Bool {
        begin == next || begin == self[next] || begin < self[next] && distance == .max
    }

    fileprivate var last: UInt64 { max(even, odd) }
    fileprivate var distance: UInt32 { UInt32(clamping: last - min(even, odd)) }
}

extension LogState: MetaValue {
    static let name = "log"
    /// The key is the name.
    private static let form = ValueForm(
        "the entry \"log\" of data.mdb is damaged", byteCount: 40, checksumAt: 32)

    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: Self.name.utf8.span.bytes)
        id = value.words(0)
        first = LogFirst(last: value.integer(16), distance: value.integer(28))
        switch value.integer(24, as: UInt32.self) {
        case 0: isInUse = false
        case 1: isInUse = true
        default: throw Self.form.damaged
        }
    }

    var value: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(words: id)
        bytes.append(littleEndian: first.last)
        bytes.append(littleEndian: UInt32(isInUse ? 1 : 0))
        bytes.append(littleEndian: first.distance)
        bytes.appendZeros(8)
        Self.form.seal(&bytes, key: Self.name.utf8.span.bytes)
        return bytes
    }
}
