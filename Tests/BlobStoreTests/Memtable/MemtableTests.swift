import Bytes
import LMDB
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// The memtable against a dictionary, and a snapshot with one against the store once it is committed.
@Suite struct MemtableTests {
    private struct Key: Hashable, Comparable {
        var table: UInt8
        var bytes: [UInt8]

        static func < (left: Key, right: Key) -> Bool {
            left.table != right.table
                ? left.table < right.table : left.bytes.lexicographicallyPrecedes(right.bytes)
        }
    }

    private static func find(_ key: Key, in view: MemtableView) -> [UInt8]?? {
        value(view.find(key.bytes.span.bytes, in: key.table))
    }

    private static func find(_ key: Key, in list: MemtableList) -> [UInt8]?? {
        let bytes = key.bytes.span.bytes
        return value(list.find(bytes, in: key.table, list.hash(bytes, key.table)))
    }

    private static func value(_ finding: MemtableList.Finding) -> [UInt8]?? {
        switch finding {
        case .nothing: nil
        case .deleted: .some(nil)
        case .value(let bytes): Array(bytes)
        }
    }

    /// What a walk finds, deletes included.
    private static func walk(
        _ view: MemtableView, _ table: UInt8, isForward: Bool
    ) -> [([UInt8], [UInt8]?)] {
        var found: [([UInt8], [UInt8]?)] = []
        var position =
            isForward
            ? view.position(atOrAfter: RawSpan(), in: table)
            : view.position(before: nil, in: table)
        while let at = position.entry {
            let value = UnsafeRawBufferPointer(start: at.value, count: max(0, at.length))
            found.append((at.key.array(), at.length < 0 ? nil : Array(value)))
            position =
                isForward
                ? view.position(after: at, position) : view.position(before: at.key, in: table)
        }
        return found
    }

    @Test(
        "Each reader finds the operations that were published when it began, and those of a frozen memtable below, where its commit has not got them",
        arguments: [false, true])
    func againstDictionary(isOverFrozen: Bool) throws {
        var generator = SeededGenerator(seed: testSeed(1))
        let first = Memtable(base: 7)
        var memtable = first
        var model: [Key: [UInt8]?] = [:]
        var earlier: [(MemtableView, [Key: [UInt8]?])] = []
        // Without what the memtable below has.
        var alone: [Key: [UInt8]?] = [:]
        #expect(MemtableView(address: memtable.address, over: 8) == nil)
        let rounds = testRounds(60)
        for round in 0..<rounds {
            if isOverFrozen, round == rounds / 2 {
                memtable = Memtable(base: 8, over: first)
                alone = [:]
            }
            for _ in 0..<40 {
                let table = UInt8(generator.below(3))
                let length = 1 + generator.below(3)
                let key = Key(
                    table: table, bytes: (0..<length).map { _ in UInt8(generator.below(4)) })
                if generator.below(3) == 0 {
                    memtable.delete(key.bytes.span.bytes, in: table)
                    model[key] = .some(nil)
                    alone[key] = .some(nil)
                } else {
                    let value = (0..<generator.below(40)).map { _ in UInt8(generator.below(256)) }
                    memtable.put(key.bytes.span.bytes, value.span.bytes, in: table)
                    model[key] = .some(value)
                    alone[key] = .some(value)
                }
            }
            memtable.publish()
            let view = try #require(MemtableView(address: memtable.address, over: 7))
            earlier.append((view, model))
            guard memtable !== first else { continue }
            // What is below is committed: it is not looked into.
            let above = try #require(MemtableView(address: memtable.address, over: 8))
            earlier.append((above, alone))
            #expect(MemtableView(address: memtable.address, over: 9) == nil)
        }
        let keys = Array(model.keys)
        for (view, model) in earlier {
            for key in keys { #expect(Self.find(key, in: view) == model[key]) }
            for table in UInt8(0)..<4 {
                let expected = model.keys.filter { $0.table == table }.sorted()
                let forward = Self.walk(view, table, isForward: true)
                let backward = Self.walk(view, table, isForward: false)
                #expect(forward.map(\.0) == expected.map(\.bytes))
                #expect(forward.map(\.1) == expected.map { model[$0] ?? nil })
                #expect(backward.map(\.0) == expected.reversed().map(\.bytes))
            }
        }
        withExtendedLifetime((first, memtable)) {}
    }

    /// What a random walk of a table finds: the same steps lead to the same entries, wherever they lie.
    private static func stroll(
        _ snapshot: borrowing Snapshot, _ table: Table, _ keys: [[UInt8]],
        _ generator: inout SeededGenerator
    ) throws -> [[UInt8]] {
        var found: [[UInt8]] = []
        var cursor = try snapshot.cursor(in: table)
        for _ in 0..<60 {
            let step = generator.below(keys.isEmpty ? 4 : 6)
            let key = step < 4 ? [] : keys[generator.below(keys.count)]
            let isThere =
                switch step {
                case 0: try cursor.go(.first)
                case 1: try cursor.go(.last)
                case 2: try cursor.go(.next)
                case 3: try cursor.go(.previous)
                default: try cursor.seek(key.span.bytes)
                }
            // Past its end LMDB's cursor stands elsewhere than one that never moved.
            guard isThere else {
                found.append([0xFF])
                cursor = try snapshot.cursor(in: table)
                continue
            }
            found.append(cursor.key.array() + cursor.value.array())
        }
        return found
    }

    private static func walks(
        _ snapshot: borrowing Snapshot, of store: BlobStore, seed: UInt64, _ keys: [[[UInt8]]]
    ) throws -> [[[UInt8]]] {
        var generator = SeededGenerator(seed: seed)
        var found: [[[UInt8]]] = []
        for (table, keys) in zip(store.core.tables.all, keys) where table != store.core.tables.meta
        {
            for isForward in [true, false] {
                var entries: [[UInt8]] = []
                var cursor = try snapshot.cursor(in: table)
                var isThere = try cursor.go(isForward ? .first : .last)
                while isThere {
                    entries.append(cursor.key.array() + cursor.value.array())
                    isThere = try cursor.go(isForward ? .next : .previous)
                }
                found.append(entries)
            }
            found.append(try stroll(snapshot, table, keys, &generator))
        }
        return found
    }

    @Test("Pending and committed, changes are found alike by every way through a table")
    func pendingAndCommitted() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        var generator = SeededGenerator(seed: testSeed(2))
        var pendingCount = 0
        for round in 0..<testRounds(40) {
            for _ in 0..<1 + generator.below(12) {
                let id = "id-\(generator.below(30))"
                switch generator.below(4) {
                case 0: try store.delete(id, asOf: noon)
                default:
                    let bytes = [UInt8](
                        repeating: UInt8(generator.below(5)), count: 1 + generator.below(9_000))
                    _ = try store.apply(
                        [
                            .publish(
                                try store.publication(
                                    id, bytes, owner: "owner-\(generator.below(3))"))
                        ], asOf: noon)
                }
            }
            if store.pendingChanges.isPending { pendingCount += 1 }
            let seed = UInt64(round)
            // Keys that are there, and some that are there no more.
            let keys = try store.core.tables.all.map { try store.entries(of: $0).map(\.key) }
            let pending = try store.makeSnapshot()
            let before = try Self.walks(pending, of: store, seed: seed, keys)
            try store.commitPending()
            let committed = try store.core.snapshot()
            let after = try Self.walks(committed, of: store, seed: seed, keys)
            #expect(before == after, "round \(round)")
            // The one that was opened before sees what it saw.
            let again = try Self.walks(pending, of: store, seed: seed, keys)
            #expect(again == before, "round \(round)")
        }
        #expect(pendingCount > testRounds(40) / 2)
    }

    /// What a reader was given stays as long as it reads, and no longer.
    @Test("A snapshot keeps its memtable through commits, and the next change frees it")
    func kept() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        try store.put("a", [1])
        do {
            let snapshot = try store.makeSnapshot()
            for number in 0..<3 {
                try store.commitPending()
                try store.put("b\(number)", [2])
                #expect(store.core.memtables.keptCount == 1)
            }
            let (known, unknown) = (try snapshot.record("a")?.id, try snapshot.record("b0")?.id)
            #expect(known == "a" && unknown == nil)
        }
        try store.put("c", [3])
        #expect(store.core.memtables.keptCount == 0)
    }

    @Test("A snapshot keeps the memtable that is being committed, under the one that follows it")
    func keptFrozen() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        let pipeline = store.pipeline
        try store.put("a", [1])
        try pipeline.whileWriting(committing: false) { () throws(StoreError) in
            _ = try pipeline.freeze()
        }
        try store.put("b", [2])
        do {
            let snapshot = try store.makeSnapshot()
            try pipeline.whileWriting(committing: false) { () throws(StoreError) in
                try pipeline.settle()
            }
            let last = try store.core.snapshot().transaction.id
            #expect(store.lastCommit == last)
            // Memory that was freed is used again.
            for number in 0..<20 {
                try store.put("c\(number)", [3])
                try store.commitPending()
            }
            #expect(store.core.memtables.keptCount == 2)
            let (frozen, newer) = (try snapshot.record("a")?.id, try snapshot.record("b")?.id)
            let unknown = try snapshot.record("c0")?.id
            #expect(frozen == "a" && newer == "b" && unknown == nil)
        }
        try store.put("d", [4])
        #expect(store.core.memtables.keptCount == 0)
    }

    /// Of one that is lost what `data.mdb` has would be found, which is older.
    @Test("Each key is found, however often the slots of their hashes are copied to more of them")
    func growing() throws {
        // Where keys lie is another place in each.
        for round in 0..<16 {
            let memtable = Memtable(base: 1)
            // They are copied behind 256 keys, and behind 1,024.
            let keys = (0..<1_100).map { Key(table: 1, bytes: Array("key \($0)".utf8)) }
            for key in keys { memtable.put(key.bytes.span.bytes, key.bytes.span.bytes, in: 1) }
            memtable.publish()
            let view = try #require(MemtableView(address: memtable.address, over: 1))
            let lost = keys.filter { (Self.find($0, in: view) ?? nil) != $0.bytes }
            #expect(lost == [], "round \(round)")
            for key in keys { memtable.delete(key.bytes.span.bytes, in: 1) }
            var count = 0
            memtable.ownList.forEachNewest { _ in count += 1 }
            #expect(count == keys.count, "round \(round)")
        }
    }

    @Test("A long batch is read from memory, every byte, before and after its commit")
    func longBatch() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        let payloads = (0..<12).map { SeededGenerator.bytes(30_000 + $0, seed: UInt64($0)) }
        let changes = try payloads.indices.map {
            Change.publish(try store.publication("\($0)", payloads[$0]))
        }
        _ = try store.apply(changes, asOf: noon)
        #expect(store.pendingChanges.isPending)
        for isCommitted in [false, true] {
            if isCommitted { try store.commitPending() }
            for index in payloads.indices {
                let found = try store.ownedPayload(for: "\(index)", asOf: noon)
                #expect(found == payloads[index], "\(index)")
            }
        }
    }

    /// Their bytes are not copied on their way.
    @Test("Long payloads have every byte once their batch is committed, also next to a refused one")
    func longPayloads() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        try store.damageRecord("bad")
        let before = try store.verify().problems.count
        try store.put("pending", [1])
        let payloads = (0..<4).map {
            SeededGenerator.bytes(150_000 + 40_000 * $0, seed: UInt64($0))
        }
        let ids = ["a", "bad", "b", "c"]
        let changes = try ids.indices.map {
            Change.publish(try store.publication(ids[$0], payloads[$0]))
        }
        let outcomes = try store.apply(changes, asOf: noon)
        #expect(outcomes.map(\.isDone) == [true, false, true, true])
        #expect(!store.pendingChanges.isPending)
        for index in [0, 2, 3] {
            let found = try store.ownedPayload(for: ids[index], asOf: noon)
            #expect(found == payloads[index], "\(ids[index])")
        }
        #expect(try store.lookUp("pending") == .found)
        #expect(try store.verify().problems.count == before)
    }

    @Test("What is taken back is seen by nobody, and what was before it is found again")
    func rollBack() throws {
        var generator = SeededGenerator(seed: testSeed(3))
        let memtable = Memtable(base: 1)
        var model: [Key: [UInt8]?] = [:]
        var takenBackCount = 0
        for _ in 0..<testRounds(400) {
            var changed = model
            let mark = memtable.operationCount
            for _ in 0..<1 + generator.below(6) {
                let key = Key(
                    table: UInt8(generator.below(2)), bytes: [UInt8(generator.below(12))])
                if generator.below(4) == 0 {
                    memtable.delete(key.bytes.span.bytes, in: key.table)
                    changed[key] = .some(nil)
                } else {
                    let (first, second) = (
                        [UInt8(generator.below(256))],
                        generator.bytes(generator.below(9))
                    )
                    memtable.put(
                        key.bytes.span.bytes, first.span.bytes, second.span.bytes, in: key.table)
                    changed[key] = first + second
                }
            }
            for key in changed.keys {
                #expect(Self.find(key, in: memtable.ownList) == changed[key], "the writer")
            }
            if generator.below(2) == 0 {
                memtable.rollBack(to: mark)
                takenBackCount += 1
            } else {
                model = changed
                memtable.publish()
            }
            guard let view = MemtableView(address: memtable.address, over: 1) else { continue }
            for key in changed.keys {
                #expect(Self.find(key, in: view) == model[key])
                #expect(Self.find(key, in: memtable.ownList) == model[key])
            }
            var newest: [Key: [UInt8]?] = [:]
            var count = 0
            memtable.ownList.forEachNewest { entry in
                let key = Key(table: entry.table, bytes: entry.key.array())
                newest[key] = .some(entry.length < 0 ? nil : entry.bytes.array())
                count += 1
            }
            #expect(newest == model && count == model.count)
        }
        #expect(takenBackCount > testRounds(400) / 4)
    }

    private final class Run: Sendable {
        let isOver = Atomic(false)
        let published = Atomic<UInt64>(0)
    }

    /// What the writer added between two looks of a reader at the same link was taken for the entry that was looked for:
    /// a lookup found what was not acknowledged, or missed what was.
    @Test(
        "A reader finds the version that was published when it began, whatever is added meanwhile")
    func concurrent() async throws {
        let memtable = Memtable(base: 1)
        let run = Run()
        let key = Array("m".utf8)
        @Sendable func number(_ view: MemtableView) -> UInt64? {
            guard case .value(let bytes) = view.find(key.span.bytes, in: 0) else { return nil }
            return bytes.loadUnaligned(as: UInt64.self)
        }
        let address = memtable.address
        let faults = await withTaskGroup(of: (looks: Int, faults: Int).self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var (looks, faults) = (0, 0)
                    while !run.isOver.load(ordering: .acquiring) {
                        let atLeast = run.published.load(ordering: .acquiring)
                        guard let view = MemtableView(address: address, over: 1) else { break }
                        let atMost = MemtableList(address: address).operationCount / 2
                        let found = number(view) ?? 0
                        if found < atLeast || found > atMost { faults += 1 }
                        looks += 1
                        if looks.isMultiple(of: 64) { await Task.yield() }
                    }
                    return (looks, faults)
                }
            }
            group.addTask {
                // A neighbour right before the key, and the key, with each batch.
                for version in 1...UInt64(testRounds(60_000)) {
                    let neighbour = Array("l\(version)".utf8)
                    let value = withUnsafeBytes(of: version) { Array($0) }
                    memtable.put(neighbour.span.bytes, value.span.bytes, in: 0)
                    memtable.put(key.span.bytes, value.span.bytes, in: 0)
                    memtable.publish()
                    run.published.store(version, ordering: .releasing)
                    if version.isMultiple(of: 64) { await Task.yield() }
                }
                run.isOver.store(true, ordering: .releasing)
                return (0, 0)
            }
            var sum = (looks: 0, faults: 0)
            for await one in group { sum = (sum.looks + one.looks, sum.faults + one.faults) }
            return sum
        }
        withExtendedLifetime(memtable) {}
        #expect(faults.looks > 100 && faults.faults == 0, "\(faults)")
    }
}
