import LMDB
import TestSupport
import Testing

/// Changes and lookups in random order, in tables of several levels, against dictionaries. A
/// transaction keeps a cursor in each table, which must stay right whatever is split, merged or
/// emptied around it.
@Suite struct ChangeModelTests {
    /// Short values, and in the model ones of which few fit a page and ones with pages of their own.
    private static let valueBounds = [80, 1_200, 2_100, 12_000]

    private typealias Model = [[UInt8]: [UInt8]]

    @Test("Every answer is the model's, and so is what is stored", arguments: UInt64(1)...6)
    func random(seed: UInt64) throws {
        let folder = TemporaryFolder()
        let environment = try folder.open(mapByteCount: 256 << 20)
        let tables = [try environment.makeTable("one"), try environment.makeTable("two")]
        var models: [Model] = [[:], [:]]
        var generator = SeededGenerator(seed: seed)
        var largest: UInt64 = 0
        for round in 0..<60 {
            let isKept = generator.below(8) > 0
            // Rounds in which a table grows, shrinks, or is emptied in key order.
            let deletes = [1, 4, 7][generator.below(3)]
            let before = models
            var transaction = try environment.beginWrite()
            for _ in 0..<generator.below(200) {
                let index = generator.below(2)
                let table = tables[index]
                var key = generator.key(of: 600)
                if generator.below(10) < deletes {
                    if generator.below(2) == 0,
                        let some = models[index].keys.min(
                            by: { $0.lexicographicallyPrecedes($1) })
                    {
                        key = some
                    }
                    let isDeleted = try transaction.delete(key.span.bytes, in: table)
                    #expect(
                        isDeleted == (models[index].removeValue(forKey: key) != nil),
                        "seed \(seed), round \(round)")
                    continue
                }
                let value = generator.value(upTo: Self.valueBounds)
                switch generator.below(4) {
                case 0:
                    let isNew = try transaction.insert(
                        value.span.bytes, forKey: key.span.bytes, in: table)
                    #expect(isNew == (models[index][key] == nil), "seed \(seed), round \(round)")
                    if isNew { models[index][key] = value }
                case 1:
                    // Behind all others, most of the time.
                    if generator.below(5) > 0 {
                        largest += 1
                        key = [0xFF] + withUnsafeBytes(of: largest.bigEndian) { Array($0) }
                    }
                    let cut = generator.below(value.count + 1)
                    try transaction.put(
                        value.span.bytes.extracting(0..<cut),
                        value.span.bytes.extracting(cut..<value.count), forKey: key.span.bytes,
                        in: table)
                    models[index][key] = value
                case 2:
                    try transaction.put(value.span.bytes, forKey: key.span.bytes, in: table)
                    models[index][key] = value
                default:
                    var found: [UInt8]?
                    if let value = try transaction.value(forKey: key.span.bytes, in: table) {
                        found = copied(value)
                    }
                    #expect(found == models[index][key], "seed \(seed), round \(round)")
                }
            }
            if isKept { try transaction.commit() } else { models = before }
            for index in 0..<2 {
                try Self.compare(environment, tables[index], models[index], "seed \(seed)")
            }
        }
        #expect(models[0].count > 20 && models[1].count > 20)
    }

    private static func compare(
        _ environment: Environment, _ table: Table, _ model: Model, _ note: String
    ) throws {
        let transaction = try environment.beginRead()
        var cursor = try Cursor(transaction, in: table)
        var isThere = try cursor.move(.first)
        var count = 0
        var last: [UInt8] = []
        while isThere {
            let key = copied(cursor.key)
            #expect(last.lexicographicallyPrecedes(key), "\(note)")
            #expect(model[key] == copied(cursor.value), "\(note)")
            last = key
            count += 1
            isThere = try cursor.move(.next)
        }
        #expect(count == model.count, "\(note)")
    }
}
