import Glibc
import TestSupport
import Testing

/// Hosts whose clocks are ten years apart: who leads is decided without them. Expiry is by each host's own
/// clock.
@Suite(
    .waiting,
    .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"),
    .disabled(if: hasSanitizer, "it loads a library before the others"))
struct ShiftedClockTests {
    private static let tenYears: Int64 = 315_576_000

    @Test("A follower takes the lead and gives it back", arguments: [tenYears, -tenYears])
    func apart(seconds: Int64) throws {
        let folder = TemporaryFolder()
        let clock = try MovedClock(folder: folder.path)
        try clock.set(seconds: seconds)
        let shard = try ProxiedShard()
        let leader = try shard.daemon(
            ["--replicate", shard.url, "--max-ttl", "36500d", "--advertise", "host-a"])
        func publish(_ id: String, at daemon: DaemonProcess) throws -> Int {
            try daemon.request(
                "PUT", "/v1/notifications/\(id)/payload?ttl=1000000000",
                ["Content-Type": "text/plain", "Blobd-Ack": "replicated"], body: Array(id.utf8)
            ).status
        }
        #expect(try publish("1", at: leader) == 201)
        #expect(try leader.publish("short").status == 201)
        let follower = try shard.daemon(
            ["--follow", shard.url, "--max-ttl", "36500d", "--advertise", "host-b"],
            clock.variables)
        let last = try leader.replication("sequence")
        try follower.wait(for: "it does not follow") {
            try $0.replication("sequence") >= last && $0.has("1")
        }
        // 30 days at most: over for a clock that is ahead.
        #expect(try follower.has("short") == (seconds < 0))
        try follower.promote()
        #expect(try publish("2", at: follower) == 201)
        try leader.wait(for: "it does not follow") { try $0.has("2") && $0.has("1") }
        // Killed: the other one takes it.
        follower.signal(SIGKILL)
        follower.wait()
        #expect(try leader.run("promote", "--force", "--timeout", "300").status == 0)
        #expect(try publish("3", at: leader) == 201)
        for id in ["1", "2", "3"] { #expect(try leader.has(id)) }
        // What it deleted by its clock and had not shipped is saved, and its store made anew at the next start.
        let patience = Patience()
        while true {
            try patience.wait(orThrow: Files.text("\(follower.folder)/log"))
            let again = try shard.daemon(
                ["--follow", shard.url, "--max-ttl", "36500d", "--advertise", "host-b"],
                in: follower.folder,
                clock.variables)
            do {
                try again.wait(for: "it does not follow") {
                    try $0.role() == "follower" && $0.has("3") && $0.has("1")
                }
                break
            } catch {
                #expect(again.wait() == 1)
                #expect(again.log.contains("start the daemon again"), "\(again.log)")
            }
        }
        let restored = try shard.command("restore", shard.url, "--verify-only")
        #expect(restored.status == 0, "\(restored.errors)")
    }
}
