import TestSupport
import Testing

@testable import BlobStore

/// Killed at random under changes, a store is compared with the model in `FeedModelTests`, and
/// under a daemon in the scenario `kill`.
@Suite struct CrashTests {
    @Test(
        "Killed while the store is created, at every call that makes a name or syncs, the next opening works",
        arguments: 1...10)
    func killedWhileCreating(call: Int) throws {
        let library = try Faults.library()
        let folder = TemporaryFolder()
        let (lines, status) = try Child.run(
            Child.torturer, ["open", folder.path + "/data"],
            environment: [
                "LD_PRELOAD": library, "FAULT_KIND": "kill",
                "FAULT_CALL": "mkdir rename sync meta", "FAULT_AT": "\(call)",
            ])
        // There are some nine such calls; the last round or so opens undisturbed.
        #expect(lines == (status == .killed(signal: 9) ? [] : ["opened"]))
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        let store = try BlobStore.open(at: folder.path + "/data", options: options)
        try store.put("a", [1])
        #expect(!Files.exists(folder.path + "/data/store.new"))
        #expect(try store.verify().problems == [])
    }
}
