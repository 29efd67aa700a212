import LMDB
import Testing

@Suite struct LookupCacheTests {
    /// Keys of every length around a word's, and around what is remembered, asked for in random
    /// order beside commits.
    @Test("A key that was found before is found again with the value it has in this commit")
    func sameAnswers() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var generator = Numbers(state: seed)
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
            let transaction = try environment.readers.begin()
            for _ in 0..<50 {
                let table = Int(generator.next() % 2)
                let key = keys[Int(generator.next() % UInt64(keys.count))]
                let found = try transaction.copy(of: key, in: tables[table])
                #expect(found == values[table][key], "\(key) in table \(table), seed \(seed)")
            }
        }
    }

    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        /// SplitMix64.
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }
}
