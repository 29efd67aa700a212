import Glibc
import LMDB

/// A folder for one test's environment, removed when the test lets go of it.
final class TemporaryFolder: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/lmdb-test.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { preconditionFailure("no temporary folder") }
        path = String(cString: made)
    }

    deinit {
        unlink("\(path)/data.mdb")
        unlink("\(path)/lock.mdb")
        rmdir(path)
    }

    func open(
        mapByteCount: Int = 64 << 20, readerCountMax: Int = 8, isReadOnly: Bool = false
    ) throws(LMDBError) -> Environment {
        try Environment(
            directory: path,
            Environment.Configuration(
                mapByteCount: mapByteCount, readerCountMax: readerCountMax, tableCountMax: 4,
                isReadOnly: isReadOnly))
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
        let transaction = try readers.begin()
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
