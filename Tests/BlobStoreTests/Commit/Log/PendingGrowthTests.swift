import LMDB
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// Room for what is in the log alone is had before it is answered, so a commit of it must never take
/// more than was reckoned with.
@Suite struct PendingGrowthTests {
    private let folder = TemporaryFolder()

    /// The lengths of payloads that fill pages worst: a long one never fits behind another, and
    /// short ones go between.
    private static let awkward = [1, 2_010, 5, 2_011, 1_365, 2_010, 700, 2_009, 4_096, 9]

    @Test(
        "A commit makes the file no longer than was reckoned with, whatever the lengths are",
        arguments: ["awkward", "any", "short"])
    func bound(lengths: String) throws {
        let seed = testSeed(27)
        print("pending growth: seed \(seed), \(lengths)")
        var generator = SeededGenerator(seed: seed)
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }
        let store = try folder.openLogging()
        try store.put("first", [1])
        try store.commitPending()
        // As long as this is open, no page that was used before is used again.
        let snapshot = try store.makeSnapshot()
        var number = 0
        var commits = 0
        var frozenCommits = 0
        var grown = 0
        for _ in 0..<60 {
            let used = store.core.environment.usedByteCount
            for _ in 0...below(6) {
                // The rest comes into a memtable over the one that is being committed.
                if below(6) == 0 { try store.beginCheckpoint() }
                var changes: [Change] = []
                for _ in 0...below(70) {
                    number += 1
                    let byteCount =
                        switch lengths {
                        case "awkward": Self.awkward[number % Self.awkward.count]
                        case "any": below(10) == 0 ? below(9_000) : below(2_200)
                        default: below(40)
                        }
                    var bytes = [UInt8](repeating: UInt8(number & 255), count: byteCount)
                    withUnsafeBytes(of: number) { number in
                        for (index, byte) in number.enumerated() where index < byteCount {
                            bytes[index] = byte
                        }
                    }
                    // Most ids are new ones.
                    let id = "\(below(5) == 0 ? below(number) : number)"
                    let owner = below(4) == 0 ? "owner \(below(50))" : nil
                    let message = below(8) == 0 ? String(repeating: "m", count: below(4_000)) : nil
                    changes.append(
                        .publish(
                            try store.publication(id, bytes, owner: owner, message: message)))
                    if below(12) == 0 { changes.append(.delete(id: "\(below(number))")) }
                    if below(20) == 0 {
                        let first = below(number)
                        for id in first..<first + 20 { changes.append(.delete(id: "\(id)")) }
                    }
                }
                let outcomes = try store.apply(changes, asOf: noon, freeing: 1 << 20)
                #expect(outcomes.allSatisfy { $0.error == nil }, "seed \(seed)")
                var refused = try store.publication("\(number)", [2])
                refused.condition = .revisions([7])
                if below(3) == 0 {
                    #expect(try store.apply([.publish(refused)], asOf: noon)[0].error != nil)
                }
            }
            // What is not pending was committed with a batch, and not reckoned with ahead.
            guard store.pipeline.uncommitted.isPending else { continue }
            let isWhole = store.core.environment.usedByteCount == used
            let frozen = store.pipeline.uncommitted.frozen
            let reckoned =
                store.pipeline.uncommitted.growth.total + (frozen?.growth.total ?? 0)
            try store.commitPending()
            guard isWhole else { continue }
            commits += 1
            if frozen != nil { frozenCommits += 1 }
            let growth = store.core.environment.usedByteCount - used
            grown += growth
            #expect(growth <= reckoned, "seed \(seed), commit \(commits)")
        }
        #expect(commits > 10 && frozenCommits > 5 && grown > 1 << 20, "seed \(seed)")
        withExtendedLifetime(snapshot.transaction.id) {}
        #expect(try store.verify().problems == [], "seed \(seed)")
    }

    /// Each entry was once reckoned to copy a page of its own: a commit took 2,000 publishes, and a sweep of a campaign
    /// filled one in a few steps.
    @Test("Pages are reckoned once: those that rising keys come into, and those of keys that go")
    func pagesOnce() throws {
        let store = try folder.openLogging()
        let count = 2_000
        func copiedPageCount() -> Int {
            store.pipeline.uncommitted.growth.copiedByteCount / store.core.environment.pageByteCount
        }
        func publish(_ round: Int) throws {
            for start in stride(from: 0, to: count, by: 100) {
                let changes = try (start..<start + 100).map { index in
                    Change.publish(
                        try store.publication(
                            "\(round) \(10_000 + index)",
                            SeededGenerator.bytes(20, seed: UInt64(round << 32 + index))))
                }
                _ = try store.apply(changes, asOf: noon)
            }
        }
        for round in 1...4 {
            try publish(round)
            try store.commitPending()
        }
        try publish(5)
        // Digests are all over their table.
        #expect(store.pipeline.uncommitted.isPending)
        #expect(copiedPageCount() < count + count / 10, "\(copiedPageCount())")
        try store.commitPending()
        _ = try store.apply((0..<count).map { .delete(id: "1 \(10_000 + $0)") }, asOf: noon)
        #expect(store.pipeline.uncommitted.isPending)
        #expect(copiedPageCount() < count + count / 2, "\(copiedPageCount())")
        // Their chunks lie one after the other.
        try store.commitPending()
        let freed = try store.freeOrphans(byteCountMax: 8 << 20)
        #expect(store.pipeline.uncommitted.isPending && freed.blobs == count)
        #expect(copiedPageCount() < count / 4, "\(copiedPageCount())")
        // Those that were replaced since the last commit were never there.
        try store.commitPending()
        for round in 0..<20 {
            let changes = try (0..<100).map { index in
                let bytes = SeededGenerator.bytes(20, seed: UInt64(9 << 32 + round << 16 + index))
                return Change.publish(try store.publication("again \(index)", bytes))
            }
            _ = try store.apply(changes, asOf: noon, freeing: 1 << 20)
        }
        #expect(store.pipeline.uncommitted.isPending)
        #expect(copiedPageCount() < count / 2, "\(copiedPageCount())")
    }

    /// A page of short chunks that is left nearly empty is merged with its neighbour: two are copied.
    @Test("Short chunks that go from every other page copy no more pages than are reckoned with")
    func merged() throws {
        let store = try folder.openLogging()
        let count = 4_000
        for start in stride(from: 0, to: count, by: 100) {
            let changes = try (start..<start + 100).map { index in
                Change.publish(
                    try store.publication(
                        "\(index)", SeededGenerator.bytes(700, seed: UInt64(index))))
            }
            _ = try store.apply(changes, asOf: noon)
            try store.commitPending()
        }
        // Five share a page: four of them go from each second one.
        let removed = (0..<count).filter { $0 % 10 < 4 }
        _ = try store.apply(removed.map { .delete(id: "\($0)") }, asOf: noon)
        try store.commitPending()
        // As long as this is open, no page that was used before is used again.
        let snapshot = try store.makeSnapshot()
        let used = store.core.environment.usedByteCount
        let freed = try store.freeOrphans(byteCountMax: 64 << 20)
        #expect(freed.blobs == removed.count && store.core.environment.usedByteCount == used)
        let reckoned = store.pipeline.uncommitted.growth.total
        try store.commitPending()
        let growth = store.core.environment.usedByteCount - used
        #expect(growth > count / 10 * store.core.environment.pageByteCount)
        #expect(growth <= reckoned, "\(growth) of \(reckoned)")
        withExtendedLifetime(snapshot.transaction.id) {}
    }

    /// A file that is allocated may have no room for what is written to it, so much may be pending when commits fail.
    @Test("What removes is logged while commits find no room, within wider bounds")
    func removing() throws {
        let store = try folder.openLogging()
        try store.put("a", [1])
        try store.put("b", [2])
        store.pipeline.writing.withLock { _ in
            store.pipeline.uncommitted.growth.settle(
                touchedPageCount: 1, entryByteCount: 40 << 20, removedChunkPageCount: 0)
            store.pipeline.uncommitted.isStuck = true
        }
        let publication = Change.publish(try store.publication("c", [3]))
        #expect(try store.apply([publication], asOf: noon)[0].error?.isFull == true)
        #expect(try store.apply([.delete(id: "a")], asOf: noon)[0].error == nil)
        #expect(try store.lookUp("a") == .missing && store.lookUp("b") == .found)
        // With more than that it is refused, too.
        store.pipeline.writing.withLock { _ in
            store.pipeline.uncommitted.growth.settle(
                touchedPageCount: 1, entryByteCount: 60 << 20, removedChunkPageCount: 0)
        }
        #expect(try store.apply([.delete(id: "b")], asOf: noon)[0].error?.isFull == true)
        #expect(try store.lookUp("b") == .found)
    }

    @Test("A page is counted for keys of its own gap alone, and again once it was taken back")
    func gaps() {
        let memtable = Memtable(base: 1)
        let keys: [[UInt8]] = [[1], [10], [10, 1], [19, 9], [20], [30]]
        func counted(kind: Int = 3) -> [[UInt8]] {
            keys.filter { memtable.findTouchedPage(of: $0.span.bytes, kind: kind) == .counted }
        }
        #expect(counted() == [])
        memtable.noteTouchedGap(after: [10], before: [20], kind: 3)
        #expect(counted() == [[10, 1], [19, 9]] && counted(kind: 4) == [])
        memtable.noteTouchedGap(after: nil, before: [10], kind: 3)
        #expect(counted() == [[1]])
        memtable.noteTouchedGap(after: [20], before: nil, kind: 3)
        #expect(counted() == [[30]])
        #expect(!memtable.noteTouched(page: 7) && memtable.noteTouched(page: 7))
        // More than there are places for.
        let again = (UInt(8)...5_000).filter { memtable.noteTouched(page: $0) }
        #expect(again == [] && memtable.noteTouched(page: 5_000))
        memtable.rollBack(to: 0)
        #expect(counted() == [] && !memtable.noteTouched(page: 5_000))
    }

    @Test("Keys come into other pages than those of another table, or behind one that is frozen")
    func otherGaps() throws {
        let store = try folder.openLogging()
        for id in ["1", "3", "5"] { try store.put(id, Array(id.utf8)) }
        try store.beginCheckpoint()
        let (notifications, blobs) = (store.core.tables.notifications, store.core.tables.blobs)
        let steps = [
            ("2", notifications, true), ("21", notifications, false), ("4", notifications, true),
            ("41", blobs, true), ("41", notifications, false),
        ]
        var change = try ChangeTransaction(store.core, asOf: noon)
        for (key, table, isCounted) in steps {
            let before = change.transaction.touchedPageCount
            try change.transaction.set(key.utf8.span.bytes, to: key.utf8.span.bytes, in: table)
            let count = change.transaction.touchedPageCount - before
            #expect((count > 0) == isCounted, "\(key) in \(table.name)")
        }
        change.rollBack()
        try store.commitPending()
    }

    /// All that they put are rising keys, whose pages are counted once: what is left free of each page counts most.
    @Test(
        "Long records with rising ids take no more pages than are reckoned with",
        arguments: [700, 960, 1_290, 1_700, 1_950, 2_030, 4_000], [false, true])
    func longRecords(messageByteCount: Int, isOverFrozen: Bool) throws {
        let store = try folder.openLogging()
        try store.put("first", [1])
        try store.commitPending()
        let snapshot = try store.makeSnapshot()
        let used = store.core.environment.usedByteCount
        for start in stride(from: 0, to: 2_000, by: 100) {
            if isOverFrozen, start == 1_000 { try store.beginCheckpoint() }
            let changes = (start..<start + 100).map { index in
                var draft = NotificationDraft(
                    id: "\(10_000 + index)", expiry: .at(noon.adding(seconds: 3_600)))
                draft.message = String(repeating: "m", count: messageByteCount)
                return Change.publishNotification(draft)
            }
            #expect(try store.apply(changes, asOf: noon).allSatisfy { $0.error == nil })
        }
        #expect(store.core.environment.usedByteCount == used)
        let reckoned =
            store.pipeline.uncommitted.growth.total
            + (store.pipeline.uncommitted.frozen?.growth.total ?? 0)
        try store.commitPending()
        let growth = store.core.environment.usedByteCount - used
        #expect(growth > 2_000 * messageByteCount && growth <= reckoned, "\(growth) of \(reckoned)")
        withExtendedLifetime(snapshot.transaction.id) {}
    }

    /// What they copy was once limited together with what they add, as if each copied all of its pages
    /// alone: 300 of these shared a commit, and each wrote 17 times its bytes.
    @Test(
        "Short publishes all over a store share a commit until the log is full, or the file longer")
    func shared() throws {
        let store = try folder.openLogging()
        func publish(_ range: Range<Int>, round: Int) throws {
            let changes = try range.map { index in
                Change.publish(
                    try store.publication(
                        "notification of a campaign with a long name \(index * 7_919 % 16_384)",
                        SeededGenerator.bytes(1_000, seed: UInt64(round << 32 + index))))
            }
            let outcomes = try store.apply(changes, asOf: noon)
            #expect(outcomes.allSatisfy { $0.error == nil })
        }
        for start in stride(from: 0, to: 16_384, by: 128) {
            try publish(start..<start + 128, round: 1)
        }
        try store.commitPending()
        let last = store.core.lastCommit.load(ordering: .relaxed)
        for start in stride(from: 0, to: 1_024, by: 64) {
            try publish(start..<start + 64, round: 2)
        }
        #expect(store.core.lastCommit.load(ordering: .relaxed) <= last + 1)
    }
}
