import Foundation
import TestSupport
import Testing

/// SIGTERM and SIGINT end a daemon that waits for its bucket before it is ready. A follower without a base
/// waited a minute, and took no signal.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct StopAtStartTests {
    @Test("A follower that waits for the first base", arguments: [SIGTERM, SIGINT])
    func waitingForBase(signal: Int32) throws {
        let shard = try ProxiedShard()
        // The leader writes no base: what it needs for one is refused.
        shard.fail { $0.target.contains("/base/") && $0.method == "PUT" ? [.close] : nil }
        let leader = try shard.leader()
        #expect(try leader.publish("1", ack: "local").status == 201)
        let folder = TemporaryFolder()
        let pid = try shard.unready(["--follow", shard.url], in: folder)
        try wait(folder, for: "Waiting for the first base of the leader")
        kill(pid, SIGHUP)
        kill(pid, signal)
        #expect(reap(pid) == .exited(0))
        #expect(Files.text("\(folder)/log").contains("Stopped before it was ready"))
        #expect(!Files.exists("\(folder)/s") && !Files.exists("\(folder)/data/data.mdb"))
        shard.mend()
        let follower = try shard.follower(in: folder)
        try follower.wait(for: "nothing is there") { try $0.has("1") }
    }

    @Test(
        "A leader and a follower whose bucket holds its answer", arguments: ["replicate", "follow"])
    func heldAnswer(flag: String) throws {
        let shard = try ProxiedShard()
        shard.fail { _ in [.hold] }
        let folder = TemporaryFolder()
        let pid = try shard.unready(["--\(flag)", shard.url], in: folder)
        // It has taken its signals over when it asks the bucket.
        try shard.waitForRequest()
        kill(pid, SIGTERM)
        #expect(reap(pid) == .exited(0))
        #expect(Files.text("\(folder)/log").contains("Stopped before it was ready"))
    }

    private func wait(_ folder: TemporaryFolder, for words: String) throws {
        let patience = Patience()
        while !Files.text("\(folder)/log").contains(words) {
            try patience.wait(orThrow: Files.text("\(folder)/log"))
        }
    }
}
