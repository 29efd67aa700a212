import Glibc
import LMDB
import TestSupport
import Testing

@testable import LMDB

/// Lookups in the map without liblmdb: the same answers, and no end for a process that meets damage.
@Suite struct TreeSearchTests {
    private let folder = TemporaryFolder()

    /// Keys of all lengths, many of which begin as others do, and values that are short, fill half
    /// a page, or have pages of their own.
    private static func fill(
        _ environment: Environment, _ table: Table, count: Int, _ generator: inout SeededGenerator
    ) throws -> [[UInt8]: [UInt8]] {
        var model: [[UInt8]: [UInt8]] = [:]
        var transaction = try environment.beginWrite()
        for _ in 0..<count {
            let key = generator.key(of: 4 * count)
            let value = generator.value(upTo: [40, 80, 2_000, 9_000])
            try transaction.put(value.span.bytes, forKey: key.span.bytes, in: table)
            model[key] = value
        }
        try transaction.commit()
        return model
    }

    @Test("A view keeps its commit, whenever it learns where its tables begin")
    func commits() throws {
        let environment = try folder.open()
        let tables = [try environment.makeTable("one"), try environment.makeTable("two")]
        for table in tables { try environment.set("key", [0], in: table) }
        var views: [Environment.Held] = []
        for round in 1...5 {
            views.append(try Environment.Held(environment))
            for table in tables { try environment.set("key", [UInt8(round)], in: table) }
        }
        for (round, view) in views.enumerated() {
            for table in tables {
                let found = try view.transaction.copy(of: "key", in: table)
                #expect(found == [UInt8(round)])
            }
        }
        // What is not of the last commit is not told by the meta pages.
        let transaction = try environment.beginRead()
        let last = transaction.id
        #expect(environment.bounds.mainRoot(of: last) != nil)
        for commit in last - 3..<last { #expect(environment.bounds.mainRoot(of: commit) == nil) }
        #expect(environment.bounds.mainRoot(of: last + 1) == nil)
    }

    @Test("Tables beyond those whose roots are kept are looked up by liblmdb")
    func manyTables() throws {
        let environment = try Environment(
            directory: folder.path,
            mapByteCount: 16 << 20, readerCountMax: 4, tableCountMax: 12)
        let names: [StaticString] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]
        let tables = try names.map { try environment.makeTable($0) }
        for (number, table) in tables.enumerated() {
            try environment.set("key", [UInt8(number)], in: table)
        }
        for (number, table) in tables.enumerated() {
            #expect(try environment.get("key", in: table) == [UInt8(number)])
        }
    }

    /// Numbers and places in a page were believed by `mdb_get`, which read wherever they led.
    @Test("No flipped bit ends a process that looks a key up")
    func damage() throws {
        let seed = testSeed(23)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let environment = try folder.open()
        let table = try environment.makeTable()
        let model = try Self.fill(environment, table, count: 400, &generator)
        let descriptor = open(folder.path + "/data.mdb", O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let keys = Array(model.keys)
        let page = environment.pageByteCount
        let pageCount = environment.usedByteCount / page
        var errors = 0
        for round in 0..<testRounds(400) {
            // Mostly where pages say what they are and where their entries begin.
            let inPage = generator.below(generator.below(3) == 0 ? page : 80)
            let offset = off_t((2 + generator.below(pageCount - 2)) * page + inPage)
            let bit = UInt8(1) << UInt8(generator.below(8))
            var byte: UInt8 = 0
            try #require(pread(descriptor, &byte, 1, offset) == 1)
            byte ^= bit
            try #require(pwrite(descriptor, &byte, 1, offset) == 1)
            for _ in 0..<10 {
                let key = keys[generator.below(keys.count)]
                do throws(LMDBError) {
                    _ = try environment.search(key, in: table)
                } catch {
                    #expect(error.isCorruption, "seed \(seed), round \(round)")
                    errors += 1
                }
            }
            byte ^= bit
            try #require(pwrite(descriptor, &byte, 1, offset) == 1)
        }
        #expect(errors > 0)
        for (key, value) in model {
            #expect(try environment.search(key, in: table) == .some(value))
        }
    }

    /// Keys of 40 bytes were once told apart by their first 32 where the cache was concerned: an id got
    /// another's value when both fell into the same set. There are more keys here than sets, so many do.
    @Test("Keys that differ only behind byte 32 are never taken for each other")
    func longKeys() throws {
        let environment = try folder.open()
        let table = try environment.makeTable()
        let count = 40_000
        let keys = (0..<count).map { number in
            let digits = String(number)
            let zeros = String(repeating: "0", count: 8 - digits.count)
            return String(repeating: "k", count: 32) + zeros + digits
        }
        do {
            var writing = try environment.beginWrite()
            for (number, key) in keys.enumerated() {
                try writing.put(
                    Array("\(number)".utf8).span.bytes, forKey: Array(key.utf8).span.bytes,
                    in: table)
            }
            try writing.commit()
        }
        var wrong = 0
        for _ in 0..<2 {
            let transaction = try environment.beginRead()
            for (number, key) in keys.enumerated() {
                let found = try transaction.copy(of: key, in: table)
                if found != Array("\(number)".utf8) { wrong += 1 }
            }
        }
        #expect(wrong == 0, "of \(2 * count) lookups")
    }
}

extension Environment {
    /// A view in an array.
    fileprivate final class Held {
        let transaction: ReadTransaction
        init(_ environment: Environment) throws(LMDBError) {
            transaction = try environment.beginRead()
        }
    }
}
