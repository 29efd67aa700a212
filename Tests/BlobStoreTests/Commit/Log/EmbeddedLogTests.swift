import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// A program's own store whose changes are acknowledged by its log: who uses it commits nothing.
@Suite struct EmbeddedLogTests {
    private let folder = TemporaryFolder()

    private func open() throws -> BlobStore { try folder.open { $0.usesWriteAheadLog = true } }

    private static func isLogInUse(_ store: BlobStore) throws -> Bool {
        try store.log.stateNow().state?.isInUse == true
    }

    @Test("A publish is one sync of the log, whatever is committed meanwhile")
    func oneSync() throws {
        // Made before, so that nothing of that is counted.
        do { try open().close() }
        let log = folder.path + "/lock.mdb.log"
        let count = 50
        let (lines, status) = try Child.run(
            Child.torturer, ["embed", folder.path, "\(count)"],
            environment: ["LD_PRELOAD": try Faults.library(), "FAULT_LOG": log])
        #expect(status == .exited(0))
        let answers = (0..<count).map { "ok \($0)" }
        #expect(lines == ["opened"] + answers + ["waiting", "closed"])
        let calls = String(decoding: try Files.read(log), as: UTF8.self)
        Files.remove(log)
        let (syncs, metas) = (calls.filter { $0 == "s" }.count, calls.filter { $0 == "m" }.count)
        #expect(syncs + metas == calls.count, "\(calls)")
        // Each commit is a sync and a meta page. Besides: three syncs when the log begins, and one when it ends.
        #expect(syncs - metas == count + 4, "\(calls)")
    }

    @Test("Two threads publish, and each reads at once what it has published")
    func threads() throws {
        let store = try open()
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            for number in 0..<100 {
                let id = "\(thread)-\(number)"
                do {
                    try store.put(id, Array(id.utf8))
                    let found = try store.ownedPayload(for: id, asOf: noon)
                    if found != Array(id.utf8) { throw TestFailure("it is not there") }
                } catch {
                    failures.withLock { $0.append("\(id): \(error)") }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try store.statistics().notifications == 200)
        try store.close()
        #expect(try store.verify().problems == [])
    }

    @Test("Another process has what was acknowledged before it opens the store")
    func otherProcess() throws {
        let store = try open()
        for round in 0..<5 {
            try store.put("a", Array("\(round)".utf8))
            // It gives up where nothing is committed within five seconds.
            let reader = try Child(Child.torturer, ["beside", folder.path])
            #expect(reader.readLine() == "opened")
            reader.writeLine("get a")
            #expect(reader.readLine() == "found \(round)")
        }
    }

    @Test("What is acknowledged is committed though nobody asks")
    func quiet() throws {
        let store = try open()
        try store.put("a", [1])
        let patience = Patience()
        while !store.pendingCounts.isEmpty { try patience.wait(orThrow: "nothing was committed") }
        #expect(try store.counters().notifications == 1)
    }

    @Test("A process that is killed leaves all that it has acknowledged")
    func killed() throws {
        let count = 40
        let child = try Child(Child.torturer, ["embed", folder.path, "\(count)"])
        while let line = child.readLine(), line != "waiting" {
            #expect(line == "opened" || line.hasPrefix("ok "), "\(line)")
        }
        child.kill()
        #expect(child.wait() == .killed(signal: 9))
        let store = try open()
        for number in 0..<count { #expect(try store.lookUp("\(number)") == .found) }
        #expect(try store.verify().problems == [])
    }

    @Test("Once closed, no log is in use, and a second time it does nothing")
    func closed() throws {
        let store = try open()
        try store.put("a", [1])
        #expect(try Self.isLogInUse(store))
        let snapshot = try store.makeSnapshot()
        try store.close()
        #expect(try !Self.isLogInUse(store))
        #expect(store.checkpoints?.isClosed == true && store.pendingCounts.isEmpty)
        let known = try snapshot.record("a")?.id
        #expect(known == "a")
        try store.close()
        let copy = try folder.copy()
        Files.remove(copy.path + "/changes.log")
        #expect(try copy.open().lookUp("a") == .found)
    }

    @Test("A store that is only released is closed, and can be opened again at once")
    func released() throws {
        for round in 0..<20 {
            let store = try open()
            #expect(try store.statistics().notifications == round)
            try store.put("\(round)", [1])
        }
        let copy = try folder.copy()
        Files.remove(copy.path + "/changes.log")
        #expect(try copy.open().statistics().notifications == 20)
    }

    @Test("Without the option, or opened for reading, a store has no thread, and can be closed")
    func without() throws {
        do {
            let store = try folder.open()
            try store.put("a", [1])
            #expect(store.checkpoints == nil)
            try store.close()
        }
        #expect(!Files.exists(folder.path + "/changes.log"))
        var options = BlobStore.Options()
        options.usesWriteAheadLog = true
        let reader = try BlobStore.openReadOnly(at: folder.path, options: options)
        #expect(reader.checkpoints == nil)
        try reader.close()
        #expect(try reader.lookUp("a") == .found)
    }

    @Test(
        "Where there is no room for a log it begins when there is",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
    func noRoom() throws {
        let disk = try SmallDisk(byteCount: 96 << 20)
        let path = disk.path + "/data"
        try BlobStore.open(at: path).put("a", [1])
        // Less than a log takes, and enough for a publish.
        try disk.fill(leaving: StoreLimits.logByteCount - (128 << 10))
        let notices = Notices()
        var options = BlobStore.Options()
        options.usesWriteAheadLog = true
        options.onLogNotice = { notices.add($0) }
        let store = try BlobStore.open(at: path, options: options)
        #expect(notices.all == [.lacksRoom])
        try store.put("b", [1])
        #expect(!store.pendingChanges.isPending)
        disk.empty()
        let patience = Patience()
        while notices.all.count < 2 {
            // It looks every ten seconds.
            store.checkpoints?.wake()
            try patience.wait(orThrow: "no log has begun")
        }
        #expect(notices.all == [.lacksRoom, .hasRoomAgain])
        #expect(try Self.isLogInUse(store))
        try store.close()
    }
}
