import TestSupport
import Testing

@testable import LMDB

/// One flipped bit in the size of a value ended every process that read it: liblmdb believes sizes,
/// and what is behind the end of the file is SIGBUS.
@Suite struct DamagedSizeTests {
    private let folder = TemporaryFolder()

    private static let value = [UInt8](repeating: 0x5A, count: 100)

    /// Where the entry of `key` is in the file: its size is its first four bytes, or two and two.
    private static func entry(_ key: String, in bytes: [UInt8]) -> [Int] {
        let head = [UInt8(key.utf8.count), 0] + Array(key.utf8)
        return bytes.indices.filter {
            $0 >= 6 && $0 + head.count <= bytes.count
                && bytes[$0..<$0 + head.count].elementsEqual(head)
        }.map { $0 - 6 }
    }

    @Test("No bit of a size ends a process that looks the value up, walks past it, or changes it")
    func sizes() throws {
        do {
            let environment = try folder.open()
            let table = try environment.makeTable()
            try environment.set("key-one", Self.value, in: table)
            try environment.set("key-two", Self.value, in: table)
        }
        let path = folder.path + "/data.mdb"
        let whole = try Files.read(path)
        let places = Self.entry("key-one", in: whole)
        #expect(!places.isEmpty)
        for bit in 0..<32 {
            for place in places.map({ $0 + bit / 8 }) {
                try Files.overwrite([whole[place] ^ 1 << UInt8(bit % 8)], at: place, in: path)
            }
            do {
                let environment = try folder.open()
                let table = try #require(try environment.openTables(["table"]).first)
                // Inside of the file it is as long as it says, and a caller that knows better refuses it.
                if bit >= 20 {
                    let error = #expect(throws: LMDBError.self) {
                        _ = try environment.get("key-one", in: table)
                    }
                    #expect(error?.isCorruption == true, "bit \(bit)")
                } else {
                    _ = try? environment.get("key-one", in: table)
                }
                #expect(try environment.get("key-two", in: table) == Self.value)
                try Self.walk(environment, table)
                try Self.change(environment, table, isOutside: bit >= 12)
            }
            try Files.write(whole, to: path)
        }
        let environment = try folder.open()
        let table = try #require(try environment.openTables(["table"]).first)
        #expect(try environment.get("key-one", in: table) == Self.value)
    }

    @Test("Page counts that no file has are counted up without a trap")
    func pageCounts() throws {
        do { _ = try folder.open().makeTable() }
        let path = folder.path + "/data.mdb"
        // A table's value: its flags and depth, then its branch, leaf and overflow pages (`MDB_db`).
        for place in Self.entry("table", in: try Files.read(path)) {
            for field in 1...3 {
                try Files.overwrite([0x40], at: place + 13 + 8 * field + 7, in: path)
            }
        }
        let environment = try folder.open()
        let tables = try environment.openTables(["table"])
        let count = try environment.beginRead().pageCount(of: tables)
        #expect(count > 1 << 34 && !count.multipliedReportingOverflow(by: 1 << 16).overflow)
    }

    /// A cursor reports what it cannot read, and goes on behind it.
    private static func walk(_ environment: Environment, _ table: Table) throws {
        let transaction = try environment.beginRead()
        var cursor = try Cursor(transaction, in: table)
        var found = 0
        var isBegun = false
        for _ in 0..<3 {
            let wasBegun = isBegun
            isBegun = true
            do throws(LMDBError) {
                guard try wasBegun ? cursor.move(.next) : cursor.move(.first) else { break }
                found += 1
            } catch {
                #expect(error.isOutOfBounds)
                let (key, value) = (copied(cursor.key), copied(cursor.value))
                #expect(value == [])
                #expect(key == Array("key-one".utf8))
                found += 1
            }
        }
        #expect(found == 2)
    }

    /// Nothing is changed by who finds an entry that is not inside of its page.
    private static func change(
        _ environment: Environment, _ table: Table, isOutside: Bool
    ) throws {
        let key = Array("key-one".utf8)
        var transaction = try environment.beginWrite()
        guard isOutside else { return }
        var refusal: LMDBError?
        do throws(LMDBError) {
            _ = try transaction.delete(key.span.bytes, in: table)
        } catch {
            refusal = error
        }
        let isDirty = transaction.isDirty
        #expect(refusal?.isOutOfBounds == true)
        #expect(!isDirty)
    }
}
