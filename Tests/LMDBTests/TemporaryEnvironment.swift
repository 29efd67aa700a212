import LMDB
import TestSupport

extension TemporaryFolder {
    func open(
        mapByteCount: Int = 64 << 20, readerCountMax: Int = 8, isReadOnly: Bool = false
    ) throws(LMDBError) -> Environment {
        try Environment(
            directory: path,
            mapByteCount: mapByteCount, readerCountMax: readerCountMax, tableCountMax: 4,
            isReadOnly: isReadOnly)
    }
}

extension TemporaryFolder {
    /// An environment with the tables `one` and `two`, numbered 0 and 1.
    func openTwoTables(isReadOnly: Bool = false) throws -> (Environment, [Table]) {
        let environment = try open(mapByteCount: 256 << 20, isReadOnly: isReadOnly)
        if !isReadOnly {
            for name in ["one", "two"] as [StaticString] { _ = try environment.makeTable(name) }
        }
        return (environment, try environment.openTables(["one", "two"]))
    }
}

extension Environment {
    func makeTable(_ name: StaticString = "table") throws(LMDBError) -> Table {
        var transaction = try beginWrite()
        let table = try transaction.openTable(name, creating: true)
        try transaction.commit()
        return table
    }

    func set(_ key: String, _ value: [UInt8], in table: Table) throws(LMDBError) {
        let key = Array(key.utf8)
        var transaction = try beginWrite()
        try transaction.put(value.span.bytes, forKey: key.span.bytes, in: table)
        try transaction.commit()
    }

    func get(_ key: String, in table: Table) throws(LMDBError) -> [UInt8]? {
        let transaction = try beginRead()
        return try transaction.copy(of: key, in: table)
    }
}

extension ReadTransaction {
    borrowing func copy(of key: String, in table: Table) throws(LMDBError) -> [UInt8]? {
        let key = Array(key.utf8)
        guard let value = try view.value(forKey: key.span.bytes, in: table) else { return nil }
        return copied(value)
    }
}

func copied(_ span: RawSpan) -> [UInt8] {
    span.withUnsafeBytes { Array($0) }
}

extension SeededGenerator {
    /// A key: one of `count`, so that many are met again.
    mutating func key(of count: Int) -> [UInt8] {
        let number = below(count)
        return Array("\(number)".utf8) + Array(repeating: 0x78, count: number % 80)
    }

    /// A value shorter than one of the bounds.
    mutating func value(upTo bounds: [Int]) -> [UInt8] {
        let count = below(bounds[below(bounds.count)])
        let first = UInt8(below(256))
        return (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
    }
}
