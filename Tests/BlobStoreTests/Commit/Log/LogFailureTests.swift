import BlobJSON
import Glibc
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// What is in the log when a batch does not fit it, fails, or something else is done.
@Suite struct LogFailureTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.openLogging() }

    private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number &+ $0 >> 8) }
    }

    private static func expect(
        _ ids: [String], in store: BlobStore, _ name: Comment? = nil
    ) throws {
        for id in ids {
            #expect(try store.lookUp(id) == .found, "\(id)")
        }
        #expect(try store.verify().problems == [], name)
        #expect(try store.counters().notifications == UInt64(ids.count), name)
    }

    @Test(
        "A batch too long for the log is committed, with all that was in the log",
        arguments: [true, false])
    func long(hasEarlier: Bool) throws {
        var ids: [String] = []
        if hasEarlier {
            try store.put("a", [1])
            ids = ["a"]
        }
        try store.put("long", Self.bytes(1, StoreLimits.loggedBatchByteCountMax + 1))
        #expect(!store.pendingChanges.isPending && store.pendingCounts.isEmpty)
        ids.append("long")
        try Self.expect(ids, in: store)
        // To the byte what may be in the log.
        try store.put("less", Self.bytes(2, StoreLimits.loggedBatchByteCountMax))
        #expect(store.pendingChanges.isPending)
        ids.append("less")
        try folder.withCopy { try Self.expect(ids, in: $0) }
        try store.commitPending()
        try Self.expect(ids, in: store)
    }

    /// Patches that write more than a record of the log takes, though they bring few bytes.
    private static func patches(_ round: Int) -> [Change] {
        (0..<265).map { number in
            var patch = NotificationPatch(id: "\(number)")
            patch.message = .set("\(round)")
            return .patch(patch)
        }
    }

    @Test(
        "Batches that write more than a record takes are committed, and do not end the logging of others",
        arguments: [true, false])
    func overfull(hasEarlier: Bool) throws {
        let text = String(repeating: "x", count: StoreLimits.dataByteCountMax - 20)
        for number in 0..<265 {
            let change = Change.notification("\(number)") {
                $0.details.data = JSONFragment(.object([.init("t", .string(text))]))
            }
            _ = try store.apply([change], asOf: noon, isCommitting: true)
        }
        var ids = (0..<265).map { "\($0)" }
        for round in 0..<6 {
            if hasEarlier {
                try store.put("a\(round)", [1])
                ids.append("a\(round)")
            }
            #expect(try store.apply(Self.patches(round), asOf: noon).allSatisfy { $0.isDone })
            #expect(!store.pendingChanges.isPending, "round \(round)")
            let message = try store.record(for: "7", asOf: noon)?.message
            #expect(message == "\(round)")
        }
        // However much such batches have added.
        try store.put("short", [1])
        #expect(store.pendingChanges.isPending)
        ids.append("short")
        let (copied, problems) = try folder.withCopy { copy in
            (try copy.counters().notifications, try copy.verify().problems)
        }
        #expect(copied == UInt64(ids.count) && problems == [])
    }

    @Test("When the log is full, or would add much, everything is committed and it begins again")
    func full() throws {
        var ids: [String] = []
        var commitCount = 0
        // First by what they add, then by their records, which take a page each.
        for (count, byteCount) in [(100, 200_000), (4_400, 10)] {
            var batches = 0
            let before = commitCount
            for number in 0..<count {
                let id = "\(byteCount)-\(number)"
                try store.put(id, Self.bytes(number, byteCount))
                ids.append(id)
                let pendingCounts = store.pendingChanges
                #expect(pendingCounts.byteCount <= StoreLimits.logAreaByteCount)
                if pendingCounts.batchCount <= batches {
                    commitCount += 1
                    // A commit has all of them.
                    let counters = try store.counters()
                    #expect(counters.notifications + UInt64(pendingCounts.batchCount) == ids.count)
                    if commitCount % 2 == 1 {
                        let copied = try folder.withCopy { try $0.counters().notifications }
                        #expect(copied == ids.count)
                    }
                }
                batches = pendingCounts.batchCount
            }
            #expect(commitCount > before, "with \(byteCount) bytes")
        }
        try folder.withCopy { try Self.expect(ids, in: $0) }
        try store.commitPending()
        try Self.expect(ids, in: store)
    }

    @Test(
        "A change that fails in the middle is refused; what was acknowledged before stays, and so do its neighbours",
        arguments: [0, 1, 3])
    func failing(earlier: Int) throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        try store.damageRecord("bad")
        try store.beginLogging()
        var ids: [String] = []
        for number in 0..<earlier {
            try store.put("e\(number)", Self.bytes(number, 5_000))
            ids.append("e\(number)")
        }
        let first = try store.counters().revision
        let outcomes = try store.apply(
            [
                .publish(try store.publication("before", [1])),
                .patch(NotificationPatch(id: "bad")),
                .publish(try store.publication("behind", [2])), .delete(id: "bad"),
            ], asOf: noon)
        #expect(outcomes.map(\.isDone) == [true, false, true, false])
        #expect(outcomes[1].error?.isCorrupt == true && outcomes[3].error?.isCorrupt == true)
        ids += ["before", "behind"]
        func expectAll(in store: BlobStore, _ name: String) throws {
            for id in ids {
                #expect(try store.lookUp(id) == .found, "\(id), \(name)")
            }
            let counters = try store.counters()
            #expect(counters.notifications == UInt64(ids.count), "\(name)")
            // Each number was given once: none to what failed.
            #expect(counters.revision == first + UInt64(ids.count), "\(name)")
        }
        try folder.withCopy { try expectAll(in: $0, "copy") }
        try store.put("later", [3])
        #expect(store.pendingChanges.isPending)
        ids.append("later")
        try folder.withCopy { try expectAll(in: $0, "later copy") }
        // Alone, and with nothing before it in the log.
        #expect(try store.apply(.delete(id: "bad")).error?.isCorrupt == true)
        try store.commitPending()
        #expect(try store.apply(.delete(id: "bad")).error?.isCorrupt == true)
        #expect(!store.pendingChanges.isPending)
        try expectAll(in: store, "at the end")
    }

    @Test(
        "Without room for a log there is none, and batches are committed one by one",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
    func noRoomForLog() throws {
        let disk = try SmallDisk(byteCount: 96 << 20)
        let path = disk.path + "/data"
        let store = try BlobStore.open(at: path)
        // Less than a log takes, and enough for a publish beside one payload on its way.
        try disk.fill(leaving: StoreLimits.logByteCount - (128 << 10))
        let error = try failure { try store.beginLogging() }
        #expect(error.isFull, "\(error)")
        #expect(!Files.exists(path + "/changes.log"))
        try store.put("a", [1])
        #expect(try store.lookUp("a") == .found)
        // With room for a log alone it would take what publishes need.
        #expect(try !store.resumeLogging())
        disk.empty()
        #expect(try store.resumeLogging())
        #expect(try !store.resumeLogging())
        try store.put("b", [1])
        #expect(store.pendingChanges.isPending)
        try store.endLogging()
    }

    @Test("Who waits for a change is told of it once, whatever is refused after it")
    func failureNotifies() throws {
        try store.damageRecord("bad")
        let revision = try store.counters().revision
        let bell = Bell()
        let waiting = try store.feedWatch.register(Array("anna".utf8), after: revision) {
            bell.ring()
        }
        #expect(waiting != nil)
        _ = try store.apply(
            [.publish(try store.publication("a", [1], owner: "anna"))], asOf: noon)
        #expect(bell.rings == 1 && store.pendingChanges.isPending)
        #expect(try store.apply(.delete(id: "bad")).error?.isCorrupt == true)
        #expect(bell.rings == 1 && store.pendingChanges.batchCount == 1)
        try store.commitPending()
        #expect(bell.rings == 1)
        #expect(try store.changes(of: "anna", from: .beginning).changes.map(\.id) == ["a"])
    }

    /// A refused change once had the log replayed, and with it the damage that it met.
    @Test("A refused change leaves the log and its neighbours alone, whatever they have")
    func refusedAlone() throws {
        try store.damageRecord("bad")
        let payload = Self.bytes(1, 40_000)
        for round in 0..<3 {
            let before = store.pendingChanges.batchCount
            let changes: [Change] = [
                .publish(try store.publication("a\(round)", payload + [UInt8(round)])),
                .delete(id: "bad"), .publish(try store.publication("bad", [1])),
            ]
            let outcomes = try store.apply(changes, asOf: noon)
            #expect(outcomes.map(\.isDone) == [true, false, false])
            // One record has what was done, and no more.
            #expect(store.pendingChanges.batchCount == before + 1)
            #expect(try store.ownedPayload(for: "a\(round)", asOf: noon)?.last == UInt8(round))
        }
        let ids = ["a0", "a1", "a2"]
        let (found, count) = try folder.withCopy { copy in
            (try ids.filter { try copy.lookUp($0) == .found }, try copy.counters().notifications)
        }
        #expect(found == ids && count == 3)
    }

    /// What was taken back kept its memory until the next commit, and where all is refused there is none.
    @Test("Refused changes keep no memory, however many there are")
    func refusedMemory() throws {
        try store.damageRecord("bad")
        let payload = Self.bytes(1, 200_000)
        for _ in 0..<20 {
            let change = Change.publish(try store.publication("bad", payload))
            #expect(try store.apply(change).error?.isCorrupt == true)
            #expect(store.core.memtables.byteCount < 2 * payload.count)
        }
        #expect(!store.pendingChanges.isPending)
        try store.put("good", [1])
        #expect(try store.lookUp("good") == .found)
    }

    /// It would keep all others from being committed, at each start again.
    @Test("An acknowledged entry whose page is damaged is left out by name; others are committed")
    func leftOut() throws {
        let notices = Notices()
        let folder = TemporaryFolder()
        let store = try folder.openLogging { $0.onLogNotice = { notices.add($0) } }
        let payload = SeededGenerator.bytes(700_000, seed: 5)
        try store.put("long", payload)
        try store.delete("long", asOf: noon)
        try store.commitPending()
        // Its chunks go with the next change, and are in the file until the commit.
        let change = Change.publish(try store.publication("a", [1]))
        _ = try store.apply([change], asOf: noon, freeing: 8 << 20)
        #expect(store.pendingChanges.isPending)
        let path = folder.path("data.mdb")
        let data = try Files.read(path)
        let begin = Array(payload.prefix(32))
        let page = try #require(
            stride(from: 0, to: data.count - 4_096, by: 4_096).first {
                data[$0 + 64..<$0 + 96].elementsEqual(begin)
            })
        // How many pages the chunk has.
        try Files.overwrite([0xFF, 0xFF], at: page + 12, in: path)
        try store.commitPending()
        #expect(!store.pendingChanges.isPending)
        guard case .leftOut(let reason) = notices.all.last, notices.all.count == 1 else {
            Issue.record("\(notices.all)")
            return
        }
        #expect(reason.contains("table chunks"), "\(reason)")
        try store.put("b", [2])
        try store.commitPending()
        for id in ["a", "b"] { #expect(try store.lookUp(id) == .found) }
        #expect(notices.all.count == 1)
    }

    /// The log was once begun again before the commit. Where that failed, the next batch was written over
    /// what had been acknowledged.
    @Test(
        "What is in the log stays there until the commit has succeeded",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
    func failedCommit() throws {
        let disk = try SmallDisk(byteCount: 64 << 20)
        let path = disk.path + "/data"
        do {
            let store = try BlobStore.open(at: path)
            try store.beginLogging()
            for number in 0..<20 { try store.put("a\(number)", Self.bytes(number, 9_000)) }
            #expect(store.pendingChanges.isPending)
            // The room that was allocated for the commit is taken away.
            truncate(path + "/data.mdb", off_t(store.core.environment.usedByteCount))
            try disk.fill(leaving: 0)
            #expect(throws: StoreError.self) { try store.commitPending() }
            disk.empty()
            _ = try? store.apply([.publish(try store.publication("b", [1]))], asOf: noon)
        }
        let store = try BlobStore.open(at: path)
        for number in 0..<20 {
            let found = try store.ownedPayload(for: "a\(number)", asOf: noon)
            #expect(found == Self.bytes(number, 9_000), "a\(number)")
        }
    }

    @Test("Whatever else is done comes into the log, too, or commits what is in it")
    func otherChanges() throws {
        var ids: [String] = []
        func withSomethingInTheLog(
            _ what: String, isCommitted: Bool = true, _ body: () throws -> Void
        ) throws {
            let id = "n\(ids.count)"
            _ = try store.apply(
                [.publish(try store.publication(id, [1], owner: "anna"))], asOf: noon)
            ids.append(id)
            #expect(store.pendingChanges.isPending, "\(what)")
            try body()
            #expect(store.pendingChanges.isPending == !isCommitted, "\(what)")
            #expect(store.pendingCounts.isEmpty == isCommitted, "\(what)")
            #expect(try store.lookUp(id) == .found, "\(what)")
        }
        let short = try store.publication("short", [5], expiry: .at(noon.adding(seconds: 5)))
        _ = try store.apply([.publish(short)], asOf: noon)
        try store.commitPending()
        try withSomethingInTheLog("a sweep", isCommitted: false) {
            let swept = try store.sweepExpired(asOf: noon.adding(seconds: 6), limit: 10)
            #expect(swept.expired == 1)
            let again = try store.sweepExpired(asOf: noon.adding(seconds: 6), limit: 10)
            #expect(again.expired == 0)
        }
        let copied = try folder.withCopy { try $0.lookUp("short") }
        #expect(copied == .missing)
        try withSomethingInTheLog("freeing", isCommitted: false) { try store.freeAll() }
        try withSomethingInTheLog("trimming", isCommitted: false) { try store.trimFile() }
        try withSomethingInTheLog("a long change", isCommitted: false) {
            var patch = NotificationPatch(id: "")
            patch.isRead = .set(true)
            try store.patchGroup("none", of: "anna", patch, asOf: noon)
        }
        try withSomethingInTheLog("a staged blob") {
            try store.put("large", [UInt8](repeating: 7, count: StoreLimits.stagedByteCountMin + 1))
        }
        try withSomethingInTheLog("the end of logging") { try store.endLogging() }
        try store.put("direct", [1])
        #expect(!store.pendingChanges.isPending)
        try Self.expect(ids + ["large", "direct"], in: store)
        try store.beginLogging()
        try withSomethingInTheLog("another beginning") { try store.beginLogging() }
        // An owner's account that is in the log alone goes with the rest.
        _ = try store.apply(
            [.publish(try store.publication("zoe", [1], owner: "zoë"))], asOf: noon)
        try store.deleteOwner("zoë", asOf: noon)
        #expect(try store.lookUp("zoe") == .missing)
    }

    @Test(
        "After the end of logging an older data.mdb can be put back; after a kill it is refused, and said what to do",
        arguments: [true, false])
    func olderData(isEnded: Bool) throws {
        let folder = TemporaryFolder()
        let older: TemporaryFolder
        do {
            let store = try folder.openLogging()
            try store.put("old", [1])
            try store.commitPending()
            older = try folder.copy()
            // Transactions of several records, longer and shorter ones.
            for (round, lengths) in [[9_000, 1, 1, 5_000, 1, 1], [1, 1, 9_000], [1, 1, 1]]
                .enumerated()
            {
                try store.commitPending()
                for (index, length) in lengths.enumerated() {
                    try store.put("\(round)-\(index)", Self.bytes(index, length))
                }
            }
            if isEnded { try store.endLogging() }
        }
        let data = try Files.read(older.path + "/data.mdb")
        try Files.write(data, to: folder.path + "/data.mdb")
        if !isEnded {
            let error = try failure { _ = try folder.open() }
            #expect("\(error)".contains("restored from an older copy"), "\(error)")
            #expect("\(error)".contains("--discard-log"), "\(error)")
        }
        let store = try folder.openLogging { $0.discardsLog = !isEnded }
        try Self.expect(["old"], in: store)
        try store.put("new", [1])
        try folder.withCopy { try Self.expect(["old", "new"], in: $0) }
    }
}
