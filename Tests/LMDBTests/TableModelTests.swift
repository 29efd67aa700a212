import TestSupport
import Testing

@testable import LMDB

/// Changes and lookups in random order, in tables of several levels, against dictionaries: in a transaction, which keeps
/// a cursor in each table, whatever is split, merged or emptied around it, and in views of it.
@Suite struct TableModelTests {
    private typealias Model = [[UInt8]: [UInt8]]

    /// Short values, ones of which few fit a page, and ones with pages of their own.
    private static let valueBounds = [1, 80, 1_200, 2_100, 12_000]

    @Test(
        "Every answer is the model's, and so is what is stored",
        arguments: UInt64(1)...3)
    func random(number: UInt64) throws {
        let seed = testSeed(number)
        print("tables: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let folder = TemporaryFolder()
        var models: [Model] = [[:], [:]]
        var largest: UInt64 = 0
        do {
            let (environment, tables) = try folder.openTwoTables()
            for round in 0..<60 {
                let note: Comment = "seed \(seed), round \(round)"
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
                        let wasThere = models[index].removeValue(forKey: key) != nil
                        #expect(isDeleted == wasThere, note)
                        continue
                    }
                    let value = generator.value(upTo: Self.valueBounds)
                    switch generator.below(3) {
                    case 0:
                        // Behind all others, most of the time.
                        if generator.below(5) > 0 {
                            largest += 1
                            key = [0xFF] + withUnsafeBytes(of: largest.bigEndian) { Array($0) }
                        }
                        let cut = generator.below(value.count + 1)
                        try transaction.put(
                            value.span.bytes.extracting(0..<cut),
                            value.span.bytes.extracting(cut..<value.count),
                            forKey: key.span.bytes, in: table)
                        models[index][key] = value
                    case 1:
                        try transaction.put(value.span.bytes, forKey: key.span.bytes, in: table)
                        models[index][key] = value
                    default:
                        var found: [UInt8]?
                        if let value = try transaction.value(forKey: key.span.bytes, in: table) {
                            found = copied(value)
                        }
                        #expect(found == models[index][key], note)
                    }
                }
                guard isKept else {
                    models = before
                    continue
                }
                try transaction.commit()
                for (index, model) in models.enumerated() {
                    try Self.compare(environment, tables[index], model, &generator, note)
                }
            }
        }
        #expect(models[0].count > 20 && models[1].count > 20)
        let (environment, tables) = try folder.openTwoTables(isReadOnly: true)
        for (index, model) in models.enumerated() {
            try Self.compare(environment, tables[index], model, &generator, "seed \(seed)")
        }
    }

    /// Walks a table in both directions, and looks keys up with what the view remembers and without.
    private static func compare(
        _ environment: Environment, _ table: Table, _ model: Model,
        _ generator: inout SeededGenerator, _ note: Comment
    ) throws {
        let sorted = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        let transaction = try environment.beginRead()
        var cursor = try Cursor(transaction, in: table)
        var found: [[UInt8]] = []
        var isThere = try cursor.move(.first)
        while isThere {
            found += [copied(cursor.key), copied(cursor.value)]
            isThere = try cursor.move(.next)
        }
        #expect(found == sorted.flatMap { [$0.key, $0.value] }, note)
        let behind = cursor.key.byteCount + cursor.value.byteCount
        #expect(behind == 0, note)
        found = []
        isThere = try cursor.move(.last)
        while isThere {
            found.append(copied(cursor.key))
            isThere = try cursor.move(.previous)
        }
        #expect(found == sorted.reversed().map(\.key), note)
        for _ in 0..<30 {
            let key = generator.key(of: 600)
            for _ in 0..<2 {
                var answer: [UInt8]?
                if let value = try transaction.view.value(forKey: key.span.bytes, in: table) {
                    answer = copied(value)
                }
                #expect(answer == model[key], note)
            }
            let searched = try environment.search(key, in: table)
            #expect(searched == .some(model[key]), note)
        }
    }
}

extension Environment {
    /// What a search finds from the root that the last commit has.
    func search(_ key: [UInt8], in table: Table) throws(LMDBError) -> [UInt8]?? {
        let transaction = try beginRead()
        guard let main = bounds.mainRoot(of: transaction.id) else { return .none }
        let search = TreeSearch(bounds: bounds)
        guard let root = try search.root(of: table.name, main: main) else { return .none }
        guard let value = try search.value(of: key.span.bytes, root: root) else {
            return .some(nil)
        }
        return copied(MappedValue.span(of: value))
    }
}
