import BlobJSON
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// Batches that are acknowledged once they are in the log.
@Suite struct LoggedChangesTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.openLogging() }

    @Test("Acknowledged, a change is in every snapshot that is opened afterwards; not committed")
    func acknowledged() throws {
        try store.put("old", [9])
        try store.commitPending()
        #expect(!store.pendingChanges.isPending && store.pendingCounts.isEmpty)
        let commitCount = store.pendingCounts.commitCount
        let before = try store.makeSnapshot()
        let committed = try store.counters()
        try store.put("a", [1])
        try store.delete("old", asOf: noon)
        let pendingCounts = store.pendingChanges
        #expect(pendingCounts.isPending)
        #expect(pendingCounts.batchCount == 2)
        #expect(pendingCounts.byteCount == 2 * LogRecord.alignment)
        #expect(!store.pendingCounts.isEmpty)
        let found = (try store.lookUp("a"), try store.lookUp("old"))
        #expect(found == (.found, .missing))
        #expect(try store.counters() == committed)
        // A snapshot stays as it is.
        let (isCurrent, known) = (before.isCurrent, try before.record("old")?.id)
        #expect(!isCurrent && known == "old")
        do {
            let snapshot = try store.makeSnapshot()
            let isCurrent = snapshot.isCurrent
            #expect(isCurrent)
            try store.commitPending()
            let (isCurrentStill, known) = (snapshot.isCurrent, try snapshot.record("a")?.id)
            #expect(!isCurrentStill && known == "a")
        }
        #expect(store.pendingCounts.commitCount == commitCount + 1)
        #expect(store.pendingChanges.batchCount == 0 && store.pendingCounts.isEmpty)
        let after = (try store.lookUp("a"), try store.lookUp("old"))
        #expect(after == (.found, .missing))
        // Nothing pending: no commit.
        let snapshot = try store.makeSnapshot()
        try store.commitPending()
        let isCurrentAgain = snapshot.isCurrent
        #expect(isCurrentAgain)
    }

    @Test("What changes nothing writes nothing")
    func nothing() throws {
        #expect(try !store.delete("none", asOf: noon))
        #expect(!store.pendingChanges.isPending)
        try store.put("a", [1])
        let before = store.pendingChanges.byteCount
        let outcomes = try store.apply(
            [.delete(id: "none"), .publish(try store.publication("a/b", [1]))], asOf: noon)
        #expect(outcomes.allSatisfy { !$0.isDone })
        #expect(store.pendingChanges.byteCount == before)
        #expect(store.pendingChanges.isPending)
        // Nor has it spoilt what is open.
        try store.put("b", [2])
        #expect(try folder.withCopy { try $0.counters().notifications } == 2)
    }

    @Test("A watcher of an owner is woken by the acknowledgement, once, and finds the change")
    func awaited() throws {
        let registration = try store.feedWatch.register(Array("anna".utf8)) {}
        #expect(registration.wait(after: 0))
        _ = try store.apply([.publish(try store.publication("a", [1], owner: "ben"))], asOf: noon)
        #expect(store.feedWatch.wakeCount == 0)
        _ = try store.apply([.publish(try store.publication("b", [1], owner: "anna"))], asOf: noon)
        #expect(store.feedWatch.wakeCount == 1 && store.pendingChanges.isPending)
        let page = try store.changes(of: "anna", from: .beginning)
        #expect(page.changes.map(\.id) == ["b"])
        #expect(registration.wait(after: page.revision))
        try store.commitPending()
        #expect(store.feedWatch.wakeCount == 1)
        #expect(try store.changes(of: "anna", from: .beginning).changes.map(\.id) == ["b"])
    }

    /// Who is woken looks at once: one that was woken before there is something to find would sleep again.
    @Test("Who is woken finds what it is woken for", arguments: [true, false])
    func wokenFinds(isLogging: Bool) throws {
        let folder = TemporaryFolder()
        let store = try isLogging ? folder.openLogging() : folder.open()
        let found = Mutex<[String?]>([])
        for number in 0..<3 {
            let id = "\(number)"
            let registration = try store.feedWatch.register(
                Array("anna".utf8), after: try store.statistics().revision
            ) {
                let record = try? store.record(for: id, asOf: noon)
                found.withLock { $0.append(record?.id) }
            }
            let change = Change.publish(try store.publication(id, [1], owner: "anna"))
            #expect(registration != nil)
            _ = try store.apply([change], asOf: noon)
        }
        #expect(found.withLock { $0 } == ["0", "1", "2"])
    }

    @Test("Left without a commit and opened again in the same process, it has everything")
    func dropped() throws {
        let folder = TemporaryFolder()
        do {
            let store = try folder.openLogging()
            try store.put("a", [1])
        }
        let store = try folder.openLogging()
        #expect(try store.lookUp("a") == .found)
        #expect(store.pendingCounts.isEmpty && !store.pendingChanges.isPending)
        // Nothing of it is done again later.
        try store.delete("a", asOf: noon)
        #expect(try folder.withCopy { try $0.lookUp("a") } == .missing)
    }

    @Test("A replay of the log leaves what a commit of it leaves", arguments: [false, true])
    func replayed(isOverFrozen: Bool) throws {
        let seed = testSeed(46)
        var generator = SeededGenerator(seed: seed)
        func change() throws {
            let id = "id-\(generator.below(12))"
            guard generator.below(4) > 0 else {
                try store.delete(id, asOf: noon)
                return
            }
            // Several notifications have the same payload.
            let number = generator.below(6)
            let publication = try store.publication(
                id, SeededGenerator.bytes(1 + 900 * number, seed: UInt64(number)),
                owner: "owner-\(generator.below(3))")
            _ = try store.apply([.publish(publication)], asOf: noon)
        }
        for _ in 0..<20 { try change() }
        try store.commitPending()
        for number in 0..<30 {
            if isOverFrozen, number == 15 { try store.beginCheckpoint() }
            try change()
        }
        let copy = try folder.copy()
        try store.commitPending()
        let replayed = try copy.open()
        let difference = try replayed.contents().difference(from: store.contents())
        #expect(difference == [], "seed \(seed)")
        #expect(try replayed.verify().problems == [], "seed \(seed)")
    }

    // They stand in the log still, and the same commit had more after them.
    @Test("What the last commit had of the log is not done again")
    func notAgain() throws {
        try store.put("a", [1])
        // Too long for the log.
        try store.put("a", SeededGenerator.bytes(300_000))
        #expect(!store.pendingChanges.isPending)
        try store.put("b", [2])
        let copy = try folder.copy()
        try store.commitPending()
        let replayed = try copy.open()
        let difference = try replayed.contents().difference(from: store.contents())
        #expect(difference == [])
    }

    @Test("Statistics have what is in the log, and commit nothing")
    func pending() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        var revision: UInt64 = 0
        for number in 1...5 {
            revision = try store.put("\(number)", [UInt8(number), 1, 2], part: "payload").revision
            try store.put("\(number)", [UInt8(number)], part: "icon")
            let found = try store.statistics()
            #expect(found.notifications == number && found.parts == 2 * number)
            #expect(found.blobs == 2 * number && found.bytes == 4 * number)
            #expect(found.revision == revision + 1)
            #expect(store.pendingChanges.isPending)
        }
        #expect(try store.delete("1", asOf: noon))
        let deleted = try store.statistics()
        #expect(deleted.notifications == 4 && deleted.parts == 8)
        #expect(try store.counters().notifications == 0)
        try store.commitPending()
        let afterCommit = try store.statistics()
        #expect(afterCommit.notifications == 4 && afterCommit.revision == deleted.revision)
        #expect(afterCommit.bytes == deleted.bytes && afterCommit.blobs == deleted.blobs)
    }

    @Test("A batch that failed is not counted, and what was in the log before it is")
    func failed() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        try store.put("a", [1])
        let long = [UInt8](repeating: 1, count: StoreLimits.loggedBatchByteCountMax + 1)
        try store.put("b", long)
        #expect(try store.statistics().notifications == 2 && !store.pendingChanges.isPending)
        try store.put("c", [2])
        let refused = try store.apply([.publish(try store.publication("d/", [3]))], asOf: noon)
        #expect(!refused[0].isDone)
        #expect(try store.statistics().notifications == 3 && store.pendingChanges.isPending)
        try store.endLogging()
        #expect(try store.statistics().notifications == 3)
    }
}
