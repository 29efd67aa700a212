import Glibc
import TestSupport
import Testing

/// What must hold where a leader, or its bucket, is gone.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct LostChangesTests {
    // It was started again and again, and read the base each time: systemd has no end of that.
    @Test(
        "A deposed leader whose disk has no room for two stores is rebuilt, and follows",
        .enabled(if: SmallDisk.isPossible, "no tmpfs can be mounted"))
    func noRoomForTwo() throws {
        let disk = try SmallDisk(byteCount: 160 << 20)
        let shard = try ProxiedShard()
        let away = try ProxiedShard(shard.prefix)
        let leader = try away.leader(in: disk.folder)
        for number in 0..<80 {
            let answer = try leader.request(
                "PUT", "/v1/notifications/n\(number)/payload",
                ["Content-Type": "application/octet-stream"],
                body: SeededGenerator.bytes(1 << 20, seed: UInt64(number)))
            #expect(answer.status == 201)
        }
        #expect(try leader.publish("shipped").status == 201)
        let follower = try shard.follower()
        try follower.wait(for: "it does not follow") { try $0.has("shipped") }
        away.fail { _ in [.close] }
        #expect(try leader.publish("lost", ack: "local").status == 201)
        let promoted = try follower.run("promote", "--force", "--timeout", "300")
        #expect(promoted.status == 0, "\(promoted.errors)")
        away.mend()
        #expect(leader.wait() == 1)
        // Where the newest base has few of the payloads there is room for it, and the log fills what the old store had:
        // `SeedRoomTests` have the cases one by one.
        let again = try shard.leader(in: disk.folder)
        try again.wait(for: "it does not follow") {
            try $0.role() == "follower" && $0.has("shipped") && !$0.has("lost")
        }
        #expect(
            Files.names(in: again.dataPath).contains { $0.hasPrefix("unreplicated-epoch-") })
    }

    // It was refused, as if something were changed; with the bucket gone there is no other copy.
    @Test("The store of a stopped leader or follower is backed up without a daemon")
    func stopped() throws {
        let shard = try ProxiedShard()
        let leader = try shard.leader()
        let follower = try shard.follower()
        #expect(try leader.publish("shipped").status == 201)
        try follower.wait(for: "it does not follow") { try $0.has("shipped") }
        shard.fail { _ in [.close] }
        #expect(try leader.publish("here", ack: "local").status == 201)
        let folder = TemporaryFolder()
        let busy = try blobd(["backup", "\(folder)/busy", "--data", leader.dataPath])
        #expect(busy.status == 1)
        #expect(busy.errors.contains("another process uses it"), "\(busy.errors)")
        // As a kill leaves it: what is only in the log is acknowledged, too.
        leader.signal(SIGKILL)
        _ = leader.wait()
        #expect(follower.stop() == 0)
        for (daemon, ids) in [(leader, ["shipped", "here"]), (follower, ["shipped"])] {
            let (file, data) = ("\(folder)/\(ids.count)", "\(folder)/\(ids.count).restored")
            let backup = try blobd(["backup", file, "--data", daemon.dataPath])
            #expect(backup.status == 0, "\(backup.errors)")
            let restored = try blobd(["restore", file, "--data", data])
            #expect(restored.status == 0, "\(restored.errors)")
            for id in ids {
                #expect(try blobd(["get", id, "--data", data]).text == id)
            }
        }
        // It goes on in its shard as if nothing had been done.
        shard.mend()
        let again = try shard.leader(in: leader.folder)
        #expect(try again.has("here"))
        #expect(try again.publish("later").status == 201)
        #expect(try again.role() == "leader")
        #expect(again.stop() == 0)
        #expect(try blobd(["verify", "--data", again.dataPath]).status == 0)
    }
}
