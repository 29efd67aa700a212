import Glibc
import LMDB
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// Every key and value of a store, but who it is and in which transactions blobs became orphans:
/// what two stores have in common that did the same.
struct StoreContents: Equatable {
    /// By the table's name, keys and values alternating.
    var entries: [String: [[UInt8]]] = [:]
    var counters = Counters()

    /// Without what is freed at one time or another.
    var withoutOrphans: StoreContents {
        var copy = self
        copy.entries["chunks"] = nil
        copy.entries["orphans"] = nil
        copy.counters.orphanBlobs = 0
        copy.counters.orphanBytes = 0
        return copy
    }

    /// The tables in which `other` differs.
    func differentTables(from other: StoreContents) -> [String] {
        entries.keys.filter { entries[$0] != other.entries[$0] }.sorted()
    }

    /// The same, and the counters if they differ.
    func difference(from other: StoreContents) -> [String] {
        var names = differentTables(from: other)
        if counters != other.counters { names.append("\(counters) / \(other.counters)") }
        return names
    }
}

extension BlobStore {
    /// What is committed.
    func contents() throws -> StoreContents {
        var contents = StoreContents()
        do {
            let transaction = try core.environment.beginRead()
            let named = [
                ("notifications", core.tables.notifications), ("blobs", core.tables.blobs),
                ("chunks", core.tables.chunks), ("index", core.tables.index),
                ("orphans", core.tables.orphans),
            ]
            for (name, table) in named {
                var entries: [[UInt8]] = []
                var cursor = TableCursor(try transaction.cursor(in: table))
                var isThere = try cursor.go(.first)
                while isThere {
                    entries.append(cursor.key.withUnsafeBytes { Array($0) })
                    if table == core.tables.orphans {
                        let entry = try cursor.state().1
                        entries.append(Array("\(entry.digest) \(entry.state)".utf8))
                    } else {
                        entries.append(cursor.value.withUnsafeBytes { Array($0) })
                    }
                    isThere = try cursor.go(.next)
                }
                contents.entries[name] = entries
            }
        }
        contents.counters = try counters()
        return contents
    }

    /// Puts what is no record under an id, so that whatever touches that notification fails.
    func damageRecord(_ id: String) throws {
        try pipeline.change(asOf: noon, isPublishing: true) { (transaction) throws(StoreError) in
            try transaction.transaction.set(
                Array(id.utf8).span.bytes, to: [UInt8]([1, 2, 3]).span.bytes,
                in: core.tables.notifications)
            // So that the transaction counts as one that changed something.
            transaction.counters.revision += 1
        }
    }
}

extension TemporaryFolder {
    /// The files as a kill at this moment would leave them.
    func copy(withMarks: Bool = false) throws -> TemporaryFolder {
        let copy = TemporaryFolder()
        let names = ["data.mdb", "changes.log"] + (withMarks ? ["changes.pending"] : [])
        for name in names where Files.exists("\(path)/\(name)") {
            // By a process of its own, since closing a file of an open store drops its locks.
            let status = try Child.run("/bin/cp", ["\(path)/\(name)", "\(copy.path)/\(name)"]).1
            #expect(status == .exited(0))
        }
        return copy
    }

    /// Opens a copy of the files, with what is in the log.
    func withCopy<Result>(_ body: (BlobStore) throws -> Result) throws -> Result {
        let copy = try copy()
        return try body(try copy.open())
    }

    func openLogging(
        _ change: (inout BlobStore.Options) -> Void = { _ in }
    ) throws -> BlobStore {
        let store = try open(change)
        try store.beginLogging()
        return store
    }
}

/// What a store said of its log.
final class Notices: Sendable {
    private let list = Mutex<[LogNotice]>([])

    var all: [LogNotice] { list.withLock { $0 } }

    func add(_ notice: LogNotice) { list.withLock { $0.append(notice) } }
}
