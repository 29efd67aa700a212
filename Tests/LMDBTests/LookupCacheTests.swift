import LMDB
import TestSupport
import Testing

@Suite struct LookupCacheTests {
    /// Keys of every length around a word's, and around what is remembered, asked for in random
    /// order beside commits.
    @Test("A key that was found before is found again with the value it has in this commit")
    func sameAnswers() throws {
        let seed = testSeed(19)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let folder = TemporaryFolder()
        let environment = try folder.open()
        let tables = [try environment.makeTable("one"), try environment.makeTable("two")]
        var values = [[String: [UInt8]]](repeating: [:], count: 2)
        let keys = (1...60).flatMap { count in
            (0..<3).map { _ in
                String((0..<count).map { _ in Character(["a", "b"][Int(generator.next() % 2)]) })
            }
        }
        for _ in 0..<200 {
            for _ in 0..<generator.next() % 3 {
                let table = Int(generator.next() % 2)
                let key = keys[Int(generator.next() % UInt64(keys.count))]
                let value = (0..<generator.next() % 300).map { _ in
                    UInt8(truncatingIfNeeded: generator.next())
                }
                try environment.set(key, value, in: tables[table])
                values[table][key] = value
            }
            let transaction = try environment.beginRead()
            for _ in 0..<50 {
                let table = Int(generator.next() % 2)
                let key = keys[Int(generator.next() % UInt64(keys.count))]
                let found = try transaction.copy(of: key, in: tables[table])
                #expect(found == values[table][key], "\(key) in table \(table), seed \(seed)")
            }
        }
    }

    /// Keys of 40 bytes were once told apart by their first 32 where the cache was concerned: an id got
    /// another's value when both fell into the same set. There are more keys here than sets, so many do.
    @Test("Keys that differ only behind byte 32 are never taken for each other")
    func longKeys() throws {
        let folder = TemporaryFolder()
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
