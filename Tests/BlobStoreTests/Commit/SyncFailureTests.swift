import TestSupport
import Testing

@testable import BlobStore

/// After a failed sync the kernel has marked the pages it could not write as clean, so another sync
/// would succeed and lie. The store takes nothing more in that process.
@Suite struct SyncFailureTests {
    private let folder = TemporaryFolder()

    @Test(
        "After a sync or a synced meta page fails, the outcome is unknown, nothing is tried again, and what was acknowledged is whole",
        arguments: ["sync", "meta"], ["eio", "enospc"])
    func failure(call: String, kind: String) throws {
        let at = 4
        let library = try Faults.library()
        do { _ = try folder.open() }
        let log = "\(folder.path)/lock.mdb.log"
        defer { Files.remove(log) }
        let count = 8
        let (lines, status) = try Child.run(
            Child.torturer, ["publish", folder.path, "\(count)", "100000"],
            environment: [
                "LD_PRELOAD": library, "FAULT_KIND": kind, "FAULT_CALL": call,
                "FAULT_AT": "\(at)", "FAULT_LOG": log,
            ])
        #expect(status == .exited(0), "\(lines)")
        #expect(lines.first == "opened")
        let publishes = lines.dropFirst().prefix(count)
        let acknowledged = publishes.prefix { $0.hasPrefix("ok publish") }.count
        // Opening syncs nothing, and each publish syncs once and writes one meta page.
        #expect(acknowledged == at - 1)
        let rest = lines.dropFirst(1 + acknowledged)
        // The publish that failed, those after it, a delete, a step of freeing (which has nothing
        // to do), and the question whether it can be written.
        #expect(rest.count == count - acknowledged + 3)
        for line in rest where line != "ok free" {
            #expect(line.hasPrefix("failed ") && line.contains("outcome unknown"), "\(line)")
        }
        // One call failed; no sync and no synced write came after it. What is short of room may be a write: only then
        // it is asked whether a sync has failed.
        let calls = String(decoding: try Files.read(log), as: UTF8.self)
        let failed = kind == "enospc" && call == "sync" ? "xx" : "x"
        #expect(calls.hasSuffix(failed), "\(calls)")
        #expect(calls.filter { $0 == "x" }.count == failed.count, "\(calls)")

        let store = try folder.open()
        for index in 0..<acknowledged {
            #expect(try store.lookUp("\(index)") == .found, "\(index)")
        }
        let report = try store.verify()
        #expect(report.problems == [])
        // The one whose outcome is unknown may be there; those after it are not.
        #expect(report.notifications <= acknowledged + 1)
        try store.put("again", [1])
    }

    @Test(
        "Killed while the store is created, at every call that makes a name or syncs, the next opening works",
        arguments: 1...10)
    func killedWhileCreating(call: Int) throws {
        let library = try Faults.library()
        let (lines, status) = try Child.run(
            Child.torturer, ["open", folder.path + "/data"],
            environment: [
                "LD_PRELOAD": library, "FAULT_KIND": "kill",
                "FAULT_CALL": "mkdir rename sync meta", "FAULT_AT": "\(call)",
            ])
        // There are eight such calls; the last rounds open undisturbed.
        #expect(status == .killed(signal: 9) || call > 6, "there are only \(call - 1) such calls")
        #expect(lines == (status == .killed(signal: 9) ? [] : ["opened"]))
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        let store = try BlobStore.open(at: folder.path + "/data", options: options)
        try store.put("a", [1])
        #expect(!Files.exists(folder.path + "/data/store.new"))
        #expect(try store.verify().problems == [])
    }
}
