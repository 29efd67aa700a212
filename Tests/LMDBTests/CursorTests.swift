import LMDB
import TestSupport
import Testing

@Suite struct CursorTests {
    private let folder = TemporaryFolder()
    private let environment: Environment

    init() throws { environment = try folder.open() }

    @Test("A cursor walks a table in key order, and says where it ends")
    func walk() throws {
        let table = try environment.makeTable()
        for index in (0..<100).reversed() { try environment.set(key(index), [1], in: table) }
        let transaction = try environment.beginRead()
        var cursor = try Cursor(transaction, in: table)
        let nowhere = cursor.key.byteCount
        #expect(nowhere == 0)
        var found: [[UInt8]] = []
        var isThere = try cursor.move(.first)
        while isThere {
            found.append(copied(cursor.key))
            isThere = try cursor.move(.next)
        }
        #expect(found == (0..<100).map { Array(key($0).utf8) })
        let behind = cursor.key.byteCount + cursor.value.byteCount
        #expect(behind == 0)
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

    @Test("A cursor walks a table backwards, from its end and from a key")
    func backwards() throws {
        let table = try environment.makeTable()
        for index in 0..<100 { try environment.set(key(index), [1], in: table) }
        let transaction = try environment.beginRead()
        var cursor = try Cursor(transaction, in: table)
        var found: [[UInt8]] = []
        var isThere = try cursor.move(.last)
        while isThere {
            found.append(copied(cursor.key))
            isThere = try cursor.move(.previous)
        }
        #expect(found == (0..<100).reversed().map { Array(key($0).utf8) })
        let before = cursor.key.byteCount + cursor.value.byteCount
        #expect(before == 0)
        let wanted = Array(key(50).utf8)
        _ = try cursor.move(toKeyAtOrAfter: wanted.span.bytes)
        _ = try cursor.move(.previous)
        let previous = copied(cursor.key)
        #expect(previous == Array(key(49).utf8))
    }

    @Test("An empty table has no first entry, in a change as well")
    func empty() throws {
        let table = try environment.makeTable()
        let transaction = try environment.beginWrite()
        var cursor = try Cursor(transaction, in: table)
        let first = try cursor.move(.first)
        let next = try cursor.move(.next)
        let last = try cursor.move(.last)
        let previous = try cursor.move(.previous)
        #expect(!first)
        #expect(!next)
        #expect(!last)
        #expect(!previous)
    }

    private func key(_ index: Int) -> String { index < 10 ? "0\(index)" : "\(index)" }
}
