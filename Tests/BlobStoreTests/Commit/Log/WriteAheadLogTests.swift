import Glibc
import TestSupport
import Testing

@testable import BlobStore

/// The file `changes.log`: what is found in it after a crash, whatever that left.
@Suite struct WriteAheadLogTests {
    private let folder = TemporaryFolder()

    private static let logID = Nonce(high: 7, low: 9)
    /// Of a record's last page that are zeros.
    private static let missing = 40

    /// A record of so many pages, with bytes that say whose it is.
    private static func record(
        _ transaction: UInt64, _ index: UInt32, pages: Int = 1, before: UInt32 = 0
    ) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: pages * LogRecord.alignment)
        let count = bytes.count - LogRecord.byteCount - missing
        for place in 0..<count {
            bytes[LogRecord.byteCount + place] = UInt8(
                truncatingIfNeeded: place &* 13 &+ Int(transaction) &* 3 &+ Int(index) &* 5 &+ 1)
        }
        let head = LogRecord(
            logID: logID, transaction: transaction, index: index, operationCount: 1,
            operationByteCount: count, recordCountBefore: before)
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        head.write(into: &target)
        return bytes
    }

    /// What the log gives of a record: all but the zeros behind it.
    private static func whole(_ record: [UInt8]) -> [UInt8] {
        Array(record.dropLast(missing))
    }

    private var path: String { folder.path("changes.log") }

    private func open(_ use: WriteAheadLog.Use = .creating) throws -> WriteAheadLog {
        try #require(try WriteAheadLog(folder.path, of: Self.logID, use))
    }

    /// A log with records of some transactions, each from the start.
    private func log(_ transactions: [(UInt64, pages: [Int])]) throws -> WriteAheadLog {
        let log = try open()
        for (transaction, pages) in transactions {
            log.begin(transaction)
            for (index, count) in pages.enumerated() {
                let record = Self.record(transaction, UInt32(index), pages: count)
                #expect(try log.append(record.span.bytes))
            }
        }
        return log
    }

    @Test("Records of a transaction are found, in their order, and those of committed ones not")
    func found() throws {
        // Longer ones first, so that what is left of them stands behind the later ones.
        let log = try log([(3, [3, 2, 4]), (5, [1, 2]), (7, [2, 1, 1])])
        #expect(log.recordCount == 3)
        #expect(log.byteCount == 4 * LogRecord.alignment)
        let records = try log.records(of: 7)
        #expect(
            records
                == [(0, 2), (1, 1), (2, 1)].map {
                    Self.whole(Self.record(7, $0.0, pages: $0.1))
                })
        #expect(try log.lastTransaction() == 7)
        // Of another log it has nothing.
        for id in [Nonce(high: 7, low: 8), Nonce(high: 9, low: 9)] {
            let other = try #require(try WriteAheadLog(folder.path, of: id, .writing))
            #expect(try other.records(of: 7).isEmpty && other.lastTransaction() == nil)
        }
        // Opened by another, later on.
        let again = try open(.writing)
        #expect(try again.records(of: 7) == records)
        #expect(again.recordCount == 0)
        // The transaction is committed: data.mdb has them.
        #expect(try again.records(of: 8).isEmpty)
        #expect(try Files.byteCount(path) == StoreLimits.logByteCount)
        // Ended, it has nothing of any transaction, not even of those before the last.
        try log.end(in: 7)
        for transaction in UInt64(1)...9 {
            #expect(try log.records(of: transaction).isEmpty, "\(transaction)")
        }
        #expect(try log.lastTransaction() == nil)
    }

    @Test(
        "A record of an unknown kind, or longer than its place, is none, and it takes whole pages")
    func heads() throws {
        var bytes = Self.record(1, 2)
        func parsed(_ byteCountMax: Int = 4_096, first count: Int = 4_096) -> LogRecord? {
            LogRecord(bytes.span.bytes.extracting(first: count), byteCountMax: byteCountMax)
        }
        for kind in UInt8(0)...255 {
            bytes[60] = kind
            #expect((parsed() != nil) == (kind <= 2), "\(kind)")
        }
        bytes[60] = 0
        for count in [4_033, 4_096, UInt32(Int32.max), .max] {
            withUnsafeBytes(of: count.littleEndian) { bytes.replaceSubrange(48..<52, with: $0) }
            #expect(parsed() == nil, "\(count)")
        }
        for (count, padded) in [(0, 4_096), (1, 4_096), (4_032, 4_096), (4_033, 8_192)] {
            withUnsafeBytes(of: UInt32(count).littleEndian) {
                bytes.replaceSubrange(48..<52, with: $0)
            }
            #expect(parsed(8_192)?.paddedByteCount == padded)
        }
        #expect(parsed(63) == nil && parsed(0) == nil && parsed(first: 63) == nil)
    }

    @Test("There may be no file, which is no error, and none is made by looking")
    func noFile() throws {
        for use in [WriteAheadLog.Use.reading, .writing] {
            let isThere = try WriteAheadLog(folder.path, of: Self.logID, use) != nil
            #expect(!isThere)
        }
        #expect(!Files.exists(path))
        // A store is opened without one, and has none until it is asked for.
        let store = try folder.open()
        try store.put("a", [1])
        #expect(!Files.exists(path))
    }

    /// What follows the place up to which a record was written.
    enum Rest: CaseIterable {
        case zeros, olderRecords, noise
    }

    @Test(
        "A last record that is not whole is left out, wherever it ends", arguments: Rest.allCases)
    func torn(rest: Rest) throws {
        let log = try log([(6, [2, 1, 1, 2, 1, 1]), (8, [1, 1])])
        let last = Self.record(8, 2, pages: 3)
        let place = 2 * LogRecord.alignment
        let end = last.count - 40
        var generator = SeededGenerator(seed: 12)
        var before = [UInt8](repeating: 0, count: last.count)
        switch rest {
        case .zeros: break
        case .noise: before = generator.bytes(last.count)
        case .olderRecords: before = Array(try Files.read(path)[place..<place + last.count])
        }
        for cut in stride(from: 0, through: last.count, by: 512) {
            try Files.overwrite(
                Array(last.prefix(cut)) + before.suffix(last.count - cut), at: place, in: path)
            let records = try log.records(of: 8)
            // The zeros that fill its last page do not count.
            #expect(records.count == (cut >= end ? 3 : 2), "cut at \(cut)")
            #expect(records.first == Self.whole(Self.record(8, 0)))
        }
        // Blocks reach the disk in any order.
        for missing in stride(from: 0, to: end, by: 512) {
            var bytes = last
            bytes.replaceSubrange(missing..<missing + 512, with: before[missing..<missing + 512])
            guard bytes != last else { continue }
            try Files.overwrite(bytes, at: place, in: path)
            let records = try log.records(of: 8)
            #expect(records.count == 2, "without the block at \(missing)")
        }
    }

    @Test("A first record that is not whole leaves none, though older ones stand behind it")
    func tornFirst() throws {
        let log = try log([(6, [1, 1, 1, 1]), (8, [1])])
        try Files.overwrite([0xFF], at: 300, in: path)
        let records = try log.records(of: 8)
        #expect(records.isEmpty)
    }

    @Test("A damaged record before a whole one is damage, and is named", arguments: 0..<3)
    func damaged(index: Int) throws {
        let pages = [1, 3, 2, 1]
        let log = try log([(8, pages)])
        let place = pages.prefix(index).reduce(0, +) * LogRecord.alignment
        for offset in [0, 9, 13, 20, 33, 41, 49, 64, pages[index] * 4_096 - 41] {
            let bytes = Self.record(8, UInt32(index), pages: pages[index])
            try Files.overwrite([bytes[offset] ^ 4], at: place + offset, in: path)
            let error = try failure { _ = try log.records(of: 8) }
            #expect(error.isCorrupt, "byte \(offset)")
            #expect("\(error)".contains("record \(index) of "), "\(error)")
            try Files.overwrite([bytes[offset]], at: place + offset, in: path)
        }
        let records = try log.records(of: 8)
        #expect(records.count == 4)
    }

    @Test(
        "A record of a later transaction is refused, and it is said what to do", arguments: [0, 1])
    func later(isFirstDamaged: Int) throws {
        let log = try log([(8, [1, 1])])
        if isFirstDamaged == 1 { try Files.overwrite([0], at: 0, in: path) }
        for transaction in [UInt64(2), 6] {
            let error = try failure { _ = try log.records(of: transaction) }
            #expect(error.isCorrupt)
            #expect("\(error)".contains("changes of transaction 8"), "\(error)")
            #expect("\(error)".contains("ends with \(transaction - 1)"), "\(error)")
            #expect("\(error)".contains("restored from an older copy"), "\(error)")
        }
        // Also behind some of this one.
        _ = try self.log([(8, [1, 1, 1]), (6, [1])])
        let error = try failure { _ = try open(.writing).records(of: 6) }
        #expect("\(error)".contains("changes of transaction 8"), "\(error)")
    }

    /// A data.mdb of one commit before was taken for the right one where that commit had had nothing in the log.
    @Test(
        "Records of the transaction after next count only after those of the next one, and all of them"
    )
    func areas() throws {
        func records(_ before: UInt32, first: [Int]) throws -> [[UInt8]] {
            Files.remove(path)
            let log = try log([(8, first)])
            log.begin(9)
            #expect(try log.append(Self.record(9, 0, before: before).span.bytes))
            return try log.records(after: 7)
        }
        #expect(try records(2, first: [1, 3]).count == 3)
        for (before, first) in [(0, []), (1, []), (1, [1, 1]), (3, [1, 1]), (0, [1])]
            as [(UInt32, [Int])]
        {
            let error = try failure { _ = try records(before, first: first) }
            #expect(error.isCorrupt, "\(before) of \(first.count)")
        }
    }

    @Test("A log that was cut has what is whole of it, and gets its size again")
    func short() throws {
        // How long it is, how many records are whole, and how many once zeros have taken the place
        // of the zeros that were cut off.
        let cuts = [
            (0, 0, 0), (1, 0, 0), (63, 0, 0), (64, 0, 0), (4_000, 0, 0), (4_095, 0, 1),
            (4_096, 1, 1), (4_097, 1, 1), (8_192, 1, 1), (12_200, 1, 1), (12_287, 2, 2),
            (12_288, 2, 2), (16_383, 2, 3), (16_384, 3, 3), (20_000, 3, 3),
        ]
        for (byteCount, count, countAfterwards) in cuts {
            Files.remove(path)
            _ = try log([(8, [1, 2, 1])])
            #expect(truncate(path, off_t(byteCount)) == 0)
            let log = try open(.writing)
            let records = try log.records(of: 8)
            #expect(records.count == count, "\(byteCount)")
            let again = try open()
            #expect(try Files.byteCount(path) == StoreLimits.logByteCount)
            #expect(try again.records(of: 8).count == countAfterwards, "\(byteCount)")
        }
    }

    @Test("It is full to the byte, and begins again when its transaction is committed")
    func full() throws {
        let log = try open()
        log.begin(3)
        let pages = 256
        var count: UInt32 = 0
        while log.hasRoom(pages * 4_096) {
            #expect(try log.append(Self.record(3, count, pages: pages).span.bytes))
            count += 1
        }
        #expect(Int(count) == StoreLimits.logAreaByteCount / (pages * 4_096))
        #expect(log.byteCount == StoreLimits.logAreaByteCount)
        #expect(!log.hasRoom(1) && log.hasRoom(0))
        let records = try log.records(of: 3)
        #expect(records.count == Int(count))
        log.restart()
        let size = StoreLimits.logAreaByteCount
        #expect(log.hasRoom(size) && !log.hasRoom(size + 1))
        #expect(try Files.byteCount(path) == StoreLimits.logByteCount)
    }

    @Test("A link in its place is not followed")
    func link() throws {
        let other = TemporaryFolder()
        defer { Files.remove(path) }
        #expect(symlink(other.path + "/victim", path) == 0)
        for use in [WriteAheadLog.Use.reading, .writing, .creating] {
            let error = try failure { _ = try WriteAheadLog(folder.path, of: Self.logID, use) }
            if case .io(_, let number) = error {
                #expect(number == ELOOP)
            } else {
                Issue.record("\(error)")
            }
        }
        #expect(!Files.exists(other.path + "/victim"))
    }
}
