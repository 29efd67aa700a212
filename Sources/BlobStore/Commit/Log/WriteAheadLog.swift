internal import Glibc

/// The file `changes.log`: changes that were acknowledged and are not in `data.mdb` yet. It is written with zeros
/// once, so that a record is on disk with one sync of its own blocks. It has two areas. The records of one LMDB
/// transaction are in one; while that is being committed, those of the next one come into the other.
final class WriteAheadLog {
    static let fileName = "changes.log"

    private let descriptor: Int32
    /// Past the page cache, for records; nil where the file system has no such way.
    private var direct: DirectFile?
    let path: String
    let id: Nonce
    /// The transactions that `data.mdb` says its areas begin with.
    var first = LogFirst(0)
    /// The transaction that records are appended to.
    private(set) var transaction: UInt64 = 0
    /// Bytes of its records.
    private(set) var byteCount = 0
    /// How many records there are of it.
    private(set) var recordCount: UInt32 = 0
    /// How far each area was written to. What follows is another log's, or zeros.
    private var writtenByteCounts = InlineArray<2, Int>(repeating: 0)

    enum Use {
        case reading
        case writing
        /// It is made when it is not there, and all its blocks are written.
        case creating
    }

    /// Opens the log in a store's folder; nil when there is none, and none is to be made.
    init?(_ directory: String, of id: Nonce, _ use: Use) throws(StoreError) {
        path = "\(directory)/\(Self.fileName)"
        self.id = id
        let flags =
            switch use {
            case .reading: O_RDONLY
            case .writing: O_RDWR
            case .creating: O_RDWR | O_CREAT
            }
        descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o660)
        guard descriptor >= 0 else {
            if errno == ENOENT, use != .creating { return nil }
            throw .system("open \(path)")
        }
        guard use == .creating else { return }
        do throws(StoreError) {
            try allocate()
            try Creation.syncDirectory(directory)
            direct = DirectFile(path, byteCountMax: StoreLimits.logRecordByteCountMax)
        } catch {
            // Half a log is none: what would not fit now does not fit later, when it counts.
            if case .full = error { unlink(path) }
            throw error
        }
    }

    deinit { close(descriptor) }

    func fileByteCount() throws(StoreError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system("fstat \(path)") }
        return Int(status.st_size)
    }

    /// Writes zeros to what is missing of its full size.
    private func allocate() throws(StoreError) {
        let size = try fileByteCount()
        guard size < StoreLimits.logByteCount else { return }
        let zeros = [UInt8](repeating: 0, count: StoreLimits.logByteCount - size)
        try write(zeros.span.bytes, at: size)
        try sync()
    }

    func hasRoom(_ byteCount: Int) -> Bool {
        byteCount <= StoreLimits.logAreaByteCount - self.byteCount
    }

    /// The area that the records of a transaction come into begins here.
    private static func start(of transaction: UInt64) -> Int {
        transaction % 2 == 0 ? 0 : StoreLimits.logAreaByteCount
    }

    /// What `data.mdb` says of the log from the commit of its records on.
    var stateOnceCommitted: LogState {
        var first = first
        first[transaction] = transaction
        return LogState(id: id, isInUse: true, first: first)
    }

    /// From now on records are appended to `transaction`, at the start of its area: what that has is committed.
    func begin(_ transaction: UInt64) {
        guard transaction != self.transaction else { return }
        self.transaction = transaction
        restart()
    }

    /// Writes a record of a multiple of ``LogRecord/alignment`` that fits, and syncs it. Returns false, with its
    /// place empty, when the disk has no room for it.
    func append(_ record: RawSpan) throws(StoreError) -> Bool {
        precondition(hasRoom(record.byteCount) && record.byteCount % LogRecord.alignment == 0)
        do throws(StoreError) {
            guard try writeUnlessFull(record) else { return false }
            try sync()
        } catch {
            throw .outcomeUnknown("\(path): \(error)")
        }
        byteCount += record.byteCount
        recordCount += 1
        return true
    }

    /// The log is allocated, but not every file system (btrfs, ZFS) writes where it allocated. Returns false
    /// when the disk has no room.
    private func writeUnlessFull(_ record: RawSpan) throws(StoreError) -> Bool {
        let offset = Self.start(of: transaction) + byteCount
        let area = Int(transaction % 2)
        writtenByteCounts[area] = max(writtenByteCounts[area], byteCount + record.byteCount)
        if direct?.write(record, at: offset) == true { return true }
        direct = nil
        do throws(StoreError) {
            try write(record, at: offset)
            return true
        } catch {
            guard case .full = error else { throw error }
        }
        // Only the head says whether there is a record, and may be there. The area begins as it must all the same.
        var begins = false
        if byteCount == 0 { begins = try beginsAgain() }
        if !begins {
            let nothing = [UInt8](repeating: 0, count: LogRecord.alignment)
            try write(nothing.span.bytes, at: offset)
        }
        try sync()
        return false
    }

    /// Writes what the area begins with while it has no record. Returns false when the disk has no room.
    private func beginsAgain() throws(StoreError) -> Bool {
        do throws(StoreError) {
            try writeSign(.begun, first[transaction], at: Self.start(of: transaction))
            return true
        } catch {
            guard case .full = error else { throw error }
            return false
        }
    }

    /// The transaction that its records belong to is committed, or frozen: the next record is another one's.
    func restart() {
        byteCount = 0
        recordCount = 0
    }

    /// Writes what the areas begin with before `data.mdb` says, in `transaction`, that the log is in use.
    func writeBegin(in transaction: UInt64) throws(StoreError) {
        for next in [transaction, transaction + 1] {
            try writeSign(.begun, transaction, at: Self.start(of: next))
        }
        try sync()
        first = LogFirst(transaction)
    }

    /// Makes all of its records unreadable, and says so at the start, so that its `data.mdb` can be replaced by a
    /// copy of another time: records of earlier transactions would be ahead of an older one.
    func end(in transaction: UInt64) throws(StoreError) {
        for area in 0..<2 {
            let count = max(LogRecord.alignment, writtenByteCounts[area])
            let zeros = [UInt8](repeating: 0, count: count)
            try write(zeros.span.bytes, at: Self.start(of: UInt64(area)))
        }
        try writeSign(.ended, transaction, at: 0)
        try sync()
    }

    private func writeSign(
        _ kind: LogRecord.Kind, _ transaction: UInt64, at offset: Int
    ) throws(StoreError) {
        var record = [UInt8](repeating: 0, count: LogRecord.alignment)
        let head = LogRecord(
            logID: id, transaction: transaction, index: 0, operationCount: 0,
            operationByteCount: 0, kind: kind)
        var span = record.mutableSpan
        var target = span.mutableBytes
        head.write(into: &target)
        try write(record.span.bytes, at: offset)
    }

    /// The last transaction of which there are whole records; nil when there is none.
    func lastTransaction() throws(StoreError) -> UInt64? {
        let end = try fileByteCount()
        var last: UInt64?
        for area in [0, 1] as [UInt64] {
            let head = try record(at: Self.start(of: area), upTo: end)?.head
            guard let head, head.kind == .changes else { continue }
            last = max(last ?? 0, head.transaction)
        }
        return last
    }

    /// The records of the two transactions after the commit `last`.
    func records(after last: UInt64) throws(StoreError) -> [[UInt8]] {
        let first = try records(of: last + 1)
        let second = try records(of: last + 2)
        // While the next one was not committed, what came after it was not begun before it had a record.
        if first.isEmpty, let record = second.first,
            let head = LogRecord(record.span.bytes, byteCountMax: record.count)
        {
            throw tooOld(head, last + 1)
        }
        for record in second {
            let head = LogRecord(record.span.bytes, byteCountMax: record.count)
            guard head?.recordCountBefore == UInt32(first.count) else { throw missing(first) }
        }
        return first + second
    }

    /// The records of a transaction, whole ones in their order. One that was being written when the power went is
    /// not whole, and nobody was told of it. One that is missing before another is damage. A record of a later
    /// transaction means that `data.mdb` was restored from an older copy.
    func records(of transaction: UInt64) throws(StoreError) -> [[UInt8]] {
        var records: [[UInt8]] = []
        var offset = Self.start(of: transaction)
        let end = try min(fileByteCount(), offset + StoreLimits.logAreaByteCount)
        while let record = try record(at: offset, upTo: end),
            record.head.transaction == transaction, record.head.index == records.count,
            record.head.kind == .changes
        {
            records.append(record.bytes)
            offset += record.head.paddedByteCount
        }
        // What follows is of transactions that are committed, or rubbish.
        while offset < end {
            if let head = try head(at: offset, upTo: end), head.kind == .changes,
                head.transaction >= transaction,
                head.transaction > transaction || head.index > records.count,
                try record(at: offset, upTo: end) != nil
            {
                throw head.transaction > transaction ? tooOld(head, transaction) : missing(records)
            }
            offset += LogRecord.alignment
        }
        return records
    }

    /// What the areas begin with, of whichever log; nil where that is no record.
    func begins() throws(StoreError) -> [LogRecord?] {
        try [0, 1].map { (area: UInt64) throws(StoreError) in
            try anyHead(at: Self.start(of: area))
        }
    }

    /// Whether a record of a transaction was begun after its whole ones.
    func hasPart(of transaction: UInt64, after records: [[UInt8]]) throws(StoreError) -> Bool {
        let offset = records.reduce(0) { $0 + LogRecord.padded($1.count) }
        guard offset < StoreLimits.logAreaByteCount,
            let head = try anyHead(at: Self.start(of: transaction) + offset)
        else { return false }
        return head.logID == id && head.transaction == transaction
            && head.index == UInt32(records.count)
    }

    func tooOld(_ head: LogRecord, _ transaction: UInt64) -> StoreError {
        .corrupt(
            "\(path) has changes of transaction \(head.transaction), but \(DataFile.name) ends with \(transaction - 1): it was restored from an older copy"
        )
    }

    private func missing(_ records: [[UInt8]]) -> StoreError {
        .corrupt("record \(records.count) of \(path) is damaged, but a later one is valid")
    }

    private struct Found {
        var head: LogRecord
        var bytes: [UInt8]
    }

    /// The head at a place; nil when there is none of this log.
    private func head(at offset: Int, upTo end: Int) throws(StoreError) -> LogRecord? {
        guard let head = try anyHead(at: offset, upTo: end), head.logID == id,
            !head.isOfEarlierVersion
        else { return nil }
        return head
    }

    /// The head at a place, of whichever log; nil when there is none.
    private func anyHead(at offset: Int, upTo end: Int? = nil) throws(StoreError) -> LogRecord? {
        var byteCountMax = end ?? 0
        if end == nil { byteCountMax = try fileByteCount() }
        guard byteCountMax - offset >= LogRecord.alignment else { return nil }
        let bytes = try read(LogRecord.byteCount, at: offset)
        return LogRecord(bytes.span.bytes, byteCountMax: byteCountMax - offset)
    }

    /// The whole record at a place, without the zeros after it; nil when there is none.
    private func record(at offset: Int, upTo end: Int) throws(StoreError) -> Found? {
        guard let head = try head(at: offset, upTo: end) else { return nil }
        let bytes = try read(LogRecord.byteCount + head.operationByteCount, at: offset)
        return LogRecord.isWhole(bytes.span.bytes) ? Found(head: head, bytes: bytes) : nil
    }

    private func read(_ count: Int, at offset: Int) throws(StoreError) -> [UInt8] {
        // Where the file is shorter than it was, what is not there is zeros.
        var bytes = [UInt8](repeating: 0, count: count)
        guard FileBytes.read(descriptor, at: offset, into: &bytes) >= 0 else {
            throw .system("read \(path)")
        }
        return bytes
    }

    private func write(_ bytes: RawSpan, at offset: Int) throws(StoreError) {
        guard FileBytes.write(bytes, at: offset, to: descriptor) else {
            throw .system("write \(path)")
        }
    }

    private func sync() throws(StoreError) {
        guard fdatasync(descriptor) == 0 else { throw .system("fdatasync \(path)") }
    }
}
