import Glibc
import TestSupport
import Testing

@testable import BlobStore

/// Syncs of the log that fail, and kills at each of them and at each commit.
@Suite struct LogSyncTests {
    private static let count = 12

    /// A store that was made, and whose log has been, so that nothing but changes is synced.
    private static func folder() throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        try store.endLogging()
        return folder
    }

    /// Numbers of the batches that were acknowledged.
    private static func acknowledged(_ lines: [String]) -> [Int] {
        lines.compactMap { line in
            line.hasPrefix("ok batch ") ? Int(line.dropFirst("ok batch ".count)) : nil
        }
    }

    /// Holds the store against what was acknowledged: those batches and at most one more, each
    /// wholly.
    private static func check(
        _ folder: TemporaryFolder, _ lines: [String], _ name: Comment
    ) throws {
        let acknowledged = acknowledged(lines)
        #expect(acknowledged == Array(0..<acknowledged.count), name)
        let store = try folder.open()
        #expect(try store.verify().problems == [], name)
        var last = -1
        for number in 0..<count {
            let found = [try store.lookUp("\(number)-0"), try store.lookUp("\(number)-1")]
            if found == [.found, .found] {
                last = number
            } else {
                #expect(found == [.missing, .missing], "\(name): \(number)")
            }
            if number < acknowledged.count { #expect(last == number, name) }
        }
        #expect(last + 1 - acknowledged.count <= 1 && last + 1 >= acknowledged.count, name)
        let shared = try store.ownedPayload(for: "shared", asOf: noon)
        #expect(shared == (last < 0 || last % 3 == 2 ? nil : Array("\(last)".utf8)), name)
        try store.put("again", [1])
    }

    @Test("Nothing fails: each batch in the log is one sync and no synced write of data.mdb")
    func sound() throws {
        let folder = try Self.folder()
        let log = folder.path + "/lock.mdb.log"
        defer { Files.remove(log) }
        let (lines, status) = try Child.run(
            Child.torturer, ["log", folder.path, "4"],
            environment: ["LD_PRELOAD": try Faults.library(), "FAULT_LOG": log])
        #expect(status == .exited(0))
        #expect(lines == ["opened"] + (0..<4).map { "ok batch \($0)" } + ["ok end"])
        // One of the folder's when the log is opened, one of what was counted (a power cut could leave the count of another
        // log), one of its first record, and a commit that it is in use: a sync and a meta page. Four batches, then the
        // commits of those that were frozen and of the last one. At the end a commit that no log is in use; and the log is
        // cleared.
        let calls = String(decoding: try Files.read(log), as: UTF8.self)
        #expect(calls == "sss" + "sm" + "ssss" + "sm" + "sm" + "sm" + "s")
        try Self.check(folder, lines, "sound")
    }

    @Test(
        "When the log cannot be synced the outcome is unknown, and nothing more is written",
        arguments: [1, 2, 4, 8, 9])
    func failing(at: Int) throws {
        let folder = try Self.folder()
        let log = folder.path + "/lock.mdb.log"
        defer { Files.remove(log) }
        // The first four are of the folder and of the log's beginning, before any change. The eighth is
        // data.mdb's, of the long values of a batch.
        let (lines, status) = try Child.run(
            Child.torturer, ["log", folder.path, "\(Self.count)"],
            environment: [
                "LD_PRELOAD": try Faults.library(), "FAULT_KIND": "eio", "FAULT_CALL": "sync",
                "FAULT_AT": "\(at + 4)", "FAULT_LOG": log,
            ])
        #expect(status == .exited(0), "\(lines)")
        #expect(lines.first == "opened")
        let first = try #require(lines.firstIndex { $0.hasPrefix("failed") })
        for line in lines[first...] {
            #expect(line.hasPrefix("failed ") && line.contains("outcome unknown"), "\(line)")
        }
        #expect(lines.last?.hasPrefix("failed end") == true)
        let calls = String(decoding: try Files.read(log), as: UTF8.self)
        #expect(calls.hasSuffix("x") && calls.filter { $0 == "x" }.count == 1, "\(calls)")
        try Self.check(folder, lines, "failed at \(at)")
    }

    /// It may not be there after a crash.
    @Test("What could not be synced is seen by nobody, and nobody is woken for it")
    func unseen() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        try store.put("before", [1])
        let snapshot = try store.makeSnapshot()
        let bell = Bell()
        let registration = try store.feedWatch.register(Array("anna".utf8)) { bell.ring() }
        #expect(registration.wait(after: .max))
        try Self.failSyncs(of: folder.path + "/changes.log")
        for _ in 0..<2 {
            let change = Change.publish(try store.publication("a", [1], owner: "anna"))
            let error = try failure { _ = try store.apply([change], asOf: noon) }
            guard case .outcomeUnknown = error else { throw error }
            let isCurrent = snapshot.isCurrent
            #expect(isCurrent && bell.rings == 0)
            let found = (try store.lookUp("before"), try store.lookUp("a"))
            #expect(found == (.found, .missing))
            #expect(try store.statistics().notifications == 1)
        }
    }

    /// From now on this process writes nowhere where it writes to a file, which cannot be synced.
    private static func failSyncs(of path: String) throws {
        var count = 0
        for name in Files.names(in: "/proc/self/fd") {
            guard let descriptor = Int32(name),
                (try? Files.linkTarget("/proc/self/fd/\(name)")) == path
            else { continue }
            let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
            #expect(nowhere >= 0 && dup2(nowhere, descriptor) == descriptor)
            close(nowhere)
            count += 1
        }
        #expect(count > 0)
    }

    @Test("Where the disk has no room for the log batches are committed, and none is lost")
    func full() throws {
        let folder = try Self.folder()
        // The first write is the log's beginning.
        let (lines, status) = try Child.run(
            Child.torturer, ["log", folder.path, "\(Self.count)"],
            environment: [
                "LD_PRELOAD": try Faults.library(), "FAULT_KIND": "enospc", "FAULT_CALL": "log",
                "FAULT_AT": "4",
            ])
        #expect(status == .exited(0), "\(lines)")
        #expect(lines.first == "opened" && lines.last == "ok end")
        #expect(Self.acknowledged(lines) == Array(0..<Self.count), "\(lines)")
        try Self.check(folder, lines, "full")
    }
}
