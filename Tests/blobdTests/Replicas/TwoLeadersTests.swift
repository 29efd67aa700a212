import Foundation
import TestSupport
import Testing

/// Daemons that were started with the wrong prefix or the wrong folder, or twice.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct TwoLeadersTests {
    @Test("The second of two daemons with one configuration is refused, and the first goes on")
    func oneConfiguration() throws {
        let shard = try ProxiedShard()
        let first = try shard.leader()
        #expect(try first.publish("1").status == 201)
        // On another host: the same prefix, a folder of its own.
        let folder = TemporaryFolder()
        let (status, log) = try shard.refusal(["--replicate", shard.url], in: folder)
        #expect(status == 1)
        #expect(log.contains("\(shard.url) contains the store"), "\(log)")
        #expect(log.contains("led by host-a"))
        #expect(log.contains("to follow that shard, use --follow with an empty --data; to"))
        // What it is told to do works in the same folder: the refused start has left no store there.
        let follower = try shard.follower(in: folder)
        try follower.wait(for: "it does not follow") { try $0.has("1") }
        // It has nothing of a later epoch, whatever the number.
        let asked = try follower.request("GET", "/v1/notifications/1", ["Blobd-Sequence": "99-1"])
        #expect(asked.status == 503 && asked.code == "behind", "\(asked.text)")
        // On this host: the same folder, whichever flag it has.
        for flag in ["--replicate", "--follow"] {
            let (status, log) = try shard.refusal([flag, shard.url], in: first.folder)
            #expect(status == 1 && log.contains("data"), "\(log)")
        }
        #expect(try first.publish("2").status == 201)
    }

    @Test("Of a leader and a copy of its folder one leads")
    func copiedFolder() throws {
        let shard = try ProxiedShard()
        let first = try shard.leader()
        #expect(try first.publish("1").status == 201)
        #expect(first.stop() == 0)
        let folder = TemporaryFolder()
        try copy(first.dataPath, to: folder.path("data"))
        let leader = try shard.leader(in: first.folder)
        #expect(try leader.publish("2").status == 201)
        let second = try shard.daemon(
            ["--replicate", shard.url, "--advertise", "host-c"], in: folder)
        try second.wait(for: "it does not follow") {
            try $0.role() == "follower" && $0.has("2")
        }
        try second.wait(for: "it does not know who leads") {
            let refused = try $0.publish("3")
            #expect(refused.code == "follower", "\(refused.text)")
            return refused.text.contains("host-a")
        }
        #expect(try second.request("GET", "/readyz").status == 503)
        #expect(try second.run("ping").text == "ok\n")
        #expect(try leader.publish("3").status == 201)
        try second.wait(for: "it does not go on") { try $0.has("3") }
        // The other way: what the copy did is the shard's, and the first one follows.
        #expect(leader.stop() == 0)
        #expect(second.stop() == 0)
        let third = TemporaryFolder()
        try copy(first.dataPath, to: third.path("data"))
        let copied = try shard.daemon(
            ["--replicate", shard.url, "--advertise", "host-c"], in: third)
        #expect(try copied.publish("4").status == 201)
        let again = try shard.leader(in: first.folder)
        try again.wait(for: "it does not follow") {
            try $0.role() == "follower" && $0.has("4")
        }
    }

    @Test(
        "A copy of a running leader's folder that has changes of its own saves them, and leads nothing"
    )
    func copiedFolderWithChanges() throws {
        let shard = try ProxiedShard()
        let first = try shard.leader()
        #expect(try first.publish("1").status == 201)
        #expect(first.stop() == 0)
        let folder = TemporaryFolder()
        try copy(first.dataPath, to: folder.path("data"))
        // A bucket that takes nothing: what the copy does stays with it.
        let away = try ProxiedShard(shard.prefix)
        away.fail { _ in [.close] }
        let second = try away.daemon(
            ["--replicate", shard.url, "--advertise", "host-c"], in: folder)
        #expect(try second.publish("mine", ack: "local").status == 201)
        let leader = try shard.leader(in: first.folder)
        let published = try leader.publish("2")
        #expect(published.status == 201)
        // The copy has as many batches, of an epoch that is over.
        let token = try #require(published["Blobd-Sequence"])
        let asked = try second.request("GET", "/v1/notifications/1", ["Blobd-Sequence": token])
        #expect(asked.status == 503 && asked.code == "behind", "\(token): \(asked.text)")
        // A device that has read the shard's history does not begin anew with that of the copy.
        let page = try leader.request("GET", "/v1/users/ann/changes?since=latest")
        let cursor = try #require(jsonMember(page.text, "next"))
        let feed = try second.request("GET", "/v1/users/ann/changes?since=\(cursor)")
        #expect(feed.status == 503 && feed.code == "behind", "\(cursor): \(feed.text)")
        away.mend()
        #expect(second.wait() == 1)
        #expect(second.log.contains("host-a has led since epoch"), "\(second.log)")
        #expect(second.log.contains("they are saved in \(second.dataPath)/unreplicated-epoch-"))
        #expect(second.log.contains("start the daemon again"))
        #expect(try leader.publish("3").status == 201)
        let again = try shard.daemon(
            ["--replicate", shard.url, "--advertise", "host-c"], in: folder)
        try again.wait(for: "it does not follow") {
            try $0.role() == "follower" && $0.has("3") && !$0.has("mine")
        }
        #expect(
            Files.names(in: again.dataPath).contains { $0.hasPrefix("unreplicated-epoch-") })
        for (daemon, count) in [(again, 1), (leader, 0)] {
            let metrics = try daemon.request("GET", "/metrics").text
            #expect(metrics.contains("\nblobd_replication_unreplicated_folders \(count)\n"))
        }
    }

    /// It answered 404 as `replicated`, although another one led and had the notification.
    @Test("A leader that was deposed and does not know it acknowledges no change without effect")
    func deposed() throws {
        let shard = try ProxiedShard()
        let old = try shard.leader()
        #expect(try old.publish("1", ack: "replicated").status == 201)
        let follower = try ProxiedShard(shard.prefix, isDirect: true).follower()
        try follower.wait(for: "it does not follow") { try $0.has("1") }
        let nothing = ["Blobd-Ack": "replicated"]
        #expect(try old.request("DELETE", "/v1/notifications/2", nothing).status == 404)
        shard.fail { _ in [.close] }
        let promoted = try follower.run("promote", "--force", "--timeout", "300")
        #expect(promoted.status == 0, "\(promoted.errors)")
        #expect(try follower.publish("2", ack: "replicated").status == 201)
        let client = try old.connect()
        client.send(
            "DELETE /v1/notifications/2 HTTP/1.1\r\nHost: a\r\nBlobd-Ack: replicated\r\n\r\n")
        shard.mend()
        let line = try client.receive(upTo: Array("\r\n".utf8))
        let answer = String(decoding: line, as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 503"), "\(answer)")
    }

    @Test("A leader that is told to follow itself leads on")
    func itself() throws {
        let shard = try ProxiedShard()
        let first = try shard.leader()
        #expect(try first.publish("1").status == 201)
        #expect(first.stop() == 0)
        let second = try shard.daemon(
            ["--follow", shard.url, "--advertise", "host-a"], in: first.folder)
        try second.wait(for: "it does not lead") { try $0.role() == "leader" }
        #expect(try second.publish("2").status == 201)
        #expect(try second.has("1"))
    }

    @Test("A follower's folder with another shard's prefix serves what it has, and lags")
    func anotherShard() throws {
        let shard = try ProxiedShard()
        let leader = try shard.leader()
        #expect(try leader.publish("1").status == 201)
        let first = try shard.follower()
        try first.wait(for: "nothing is there") { try $0.has("1") }
        #expect(first.stop() == 0)
        let other = try ProxiedShard()
        let another = try other.leader()
        #expect(try another.publish("x").status == 201)
        let log = try other.names("log/")
        let follower = try other.follower(in: first.folder)
        try follower.waitForLog("\(other.url) contains the store")
        #expect(follower.log.contains("use --follow with an empty --data"))
        #expect(try follower.has("1") && !follower.has("x"))
        try follower.wait(for: "it does not lag") { try $0.replication("lag_milliseconds") > 300 }
        // Who asks it for the lead is told, and it gets none.
        let promoted = try follower.run("promote", "--force", "--timeout", "300")
        #expect(promoted.status != 0)
        #expect(promoted.errors.contains("cannot take the lead: \(other.url) contains the store"))
        #expect(try other.names("log/") == log)
    }

    @Test("A leader with another prefix serves, and begins nothing there")
    func anotherPrefix() throws {
        let shard = try ProxiedShard()
        let first = try shard.leader()
        #expect(try first.publish("1").status == 201)
        #expect(first.stop() == 0)
        let other = try ProxiedShard()
        let leader = try other.daemon(
            ["--replicate", other.url, "--max-unreplicated", "1s"], in: first.folder)
        try leader.waitForLog(
            "\(other.url) contains no shard, but \(leader.dataPath) belongs to one: start with its original prefix"
        )
        #expect(try leader.publish("2").code == "unreplicated")
        // Stored before it was refused, unless the second was over before it came.
        let isStored = try leader.has("2")
        #expect(try other.names() == [])
        #expect(leader.stop() == 0)
        let again = try shard.leader(in: first.folder)
        #expect(try again.publish("3").status == 201)
        #expect(try again.has("2") == isStored)
    }

    @Test("A store of no shard follows none, and an empty prefix cannot be followed")
    func noShard() throws {
        let shard = try ProxiedShard()
        let empty = try shard.refusal(["--follow", shard.url])
        #expect(empty.status == 1)
        #expect(
            empty.log.contains("contains no shard: start its leader first, with --replicate"),
            "\(empty.log)")
        let leader = try shard.leader()
        #expect(try leader.publish("1").status == 201)
        let alone = try DaemonProcess()
        #expect(try alone.put("mine", [1]).status == 201)
        #expect(alone.stop() == 0)
        let refused = try shard.refusal(["--follow", shard.url], in: alone.folder)
        #expect(refused.status == 1)
        #expect(
            refused.log.contains(
                "\(alone.dataPath) contains a store that belongs to no shard: use --follow with an empty --data"
            ), "\(refused.log)")
        let again = try DaemonProcess(in: alone.folder)
        #expect(try again.request("GET", "/v1/notifications/mine/payload").body == [1])
    }

    private func copy(_ source: String, to target: String) throws {
        let (end, _, errors) = try run(["cp", "-a", source, target])
        guard end == .exited(0) else { throw TestFailure(errors) }
    }
}
