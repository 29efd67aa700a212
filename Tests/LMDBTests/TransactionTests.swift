import Glibc
import LMDB
import TestSupport
import Testing

@Suite struct TransactionTests {
    private let folder = TemporaryFolder()
    private let environment: Environment

    init() throws { environment = try folder.open() }

    @Test("Values of every size come back, and two spans are stored as one value")
    func sizes() throws {
        let table = try environment.makeTable()
        for count in [0, 1, 2, 2_000, 2_041, 4_080, 4_081, 65_519, 65_520, 65_521, 5 << 20] {
            let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            try environment.set("key", value, in: table)
            let read = try environment.get("key", in: table)
            #expect(read == value, "\(count) bytes")

            let half = count / 2
            let key = Array("halves".utf8)
            var transaction = try environment.beginWrite()
            try transaction.put(
                value.span.bytes.extracting(0..<half), value.span.bytes.extracting(half..<count),
                forKey: key.span.bytes, in: table)
            try transaction.commit()
            let joined = try environment.get("halves", in: table)
            #expect(joined == value, "\(count) bytes in two")
        }
    }

    @Test("A key that is empty or too long is an error, not a trap")
    func keys() throws {
        let table = try environment.makeTable()
        for count in [0, 512, 70_000] {
            let key = [UInt8](repeating: 1, count: count)
            #expect(throws: LMDBError.self, "\(count) bytes") {
                var transaction = try environment.beginWrite()
                try transaction.put(key.span.bytes, forKey: key.span.bytes, in: table)
            }
        }
        let longest = String(repeating: "k", count: 511)
        try environment.set(longest, [1], in: table)
        let read = try environment.get(longest, in: table)
        #expect(read == [1])
    }

    @Test("A map that is full says so, and what was there stays")
    func mapFull() throws {
        let other = TemporaryFolder()
        let environment = try other.open(mapByteCount: 256 << 10)
        let table = try environment.makeTable()
        try environment.set("small", [1], in: table)
        do {
            try environment.set("large", [UInt8](repeating: 0, count: 1 << 20), in: table)
            Issue.record("a value larger than the map was stored")
        } catch {
            #expect(error.isMapFull)
        }
        let small = try environment.get("small", in: table)
        #expect(small == [1])
        try environment.set("small", [2], in: table)
    }

    @Test("A commit has the number that its transaction said, and views say which they see")
    func numbers() throws {
        let table = try environment.makeTable()
        let before = try environment.beginRead()
        let old = before.id
        let key = Array("a".utf8)
        var transaction = try environment.beginWrite()
        let number = transaction.id
        try transaction.put(key.span.bytes, forKey: key.span.bytes, in: table)
        try transaction.commit()
        let after = try environment.beginRead()
        #expect(number == old + 1)
        #expect(after.id == number)
        #expect(before.id == old)
        let unseen = try before.copy(of: "a", in: table)
        #expect(unseen == nil)
    }

    @Test("A cursor finds the first key that is not before the one asked for")
    func seek() throws {
        let table = try environment.makeTable()
        try environment.set("b", [1], in: table)
        try environment.set("d", [2, 3], in: table)
        let transaction = try environment.beginRead()
        var cursor = try Cursor(transaction, in: table)
        for (wanted, expected) in [("a", "b"), ("b", "b"), ("c", "d"), ("e", nil)] {
            let bytes = Array(wanted.utf8)
            let isThere = try cursor.move(toKeyAtOrAfter: bytes.span.bytes)
            let key = isThere ? String(decoding: copied(cursor.key), as: UTF8.self) : nil
            #expect(key == expected, "\(wanted)")
        }
    }

    @Test("An empty table has no first entry, in a change as well")
    func empty() throws {
        let table = try environment.makeTable()
        let transaction = try environment.beginWrite()
        var cursor = try Cursor(transaction, in: table)
        for step in [Cursor.Step.first, .next, .last, .previous] {
            let isThere = try cursor.move(step)
            #expect(!isThere, "\(step)")
        }
    }
}
