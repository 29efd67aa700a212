import BlobJSON
import BlobStore
import Foundation
import TestSupport
import Testing

@testable import Replication

/// Objects of a newer format, or of another shard, below the prefix of this one: they are refused by name, and
/// nothing of them is used.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct ForeignObjectTests {
    /// A leader that has stopped, a follower that is up to date, and a shard of others.
    private struct Scene {
        let shard: ProxiedShard
        let folder = TemporaryFolder()
        let follower: DaemonProcess
        let other: ProxiedShard
        /// The last name of the log.
        let last: Int

        init() throws {
            shard = try ProxiedShard()
            let leader = try shard.leader(in: folder)
            guard try leader.publish("1").status == 201 else { throw TestFailure(leader.log) }
            follower = try shard.follower()
            try follower.wait(for: "nothing is there") { try $0.has("1") }
            other = try ProxiedShard()
            let another = try other.leader()
            guard try another.publish("x").status == 201 else { throw TestFailure(another.log) }
            try another.wait(for: "no base") { [other] _ in
                try other.names("base/").contains { $0.hasSuffix("manifest.json") }
            }
            another.stop()
            leader.stop()
            last = try shard.names("log/").count
            let goal = last
            try follower.wait(for: "it is not up to date") {
                try $0.replication("segment") == goal
            }
        }

        func store(_ shard: ProxiedShard) throws -> String {
            try StoreDocument(shard.object("store.json") ?? []).storeID
        }

        /// Starts the leader, and waits for its words. It takes what it need not replicate.
        func leader(saying words: String) throws -> DaemonProcess {
            let leader = try shard.leader(in: folder, "--max-unreplicated", "1s")
            try leader.waitForLog(words)
            #expect(try leader.publish("local", ack: "local").status == 201)
            #expect(try leader.publish("2").code == "unreplicated")
            #expect(try leader.has("1") && leader.has("local"))
            return leader
        }

        /// All goes on.
        func goOn(_ leader: DaemonProcess) throws {
            try leader.wait(for: "it does not go on") { try $0.publish("3").status < 300 }
            try follower.wait(for: "it does not follow") {
                try $0.has("3") && $0.has("local") && $0.has("2")
            }
            #expect(try follower.role() == "follower" && leader.role() == "leader")
        }
    }

    @Test("A newer store.json: the leader serves, and nobody begins with it")
    func newerStore() throws {
        let scene = try Scene()
        let words = "the object store.json has the version 2; this program reads 1: use a newer one"
        let old = try #require(try scene.shard.object("store.json"))
        let text = String(decoding: old, as: UTF8.self)
        #expect(text.contains("\"version\":1"))
        try scene.shard.put(
            "store.json",
            Document.bytes([
                ("version", .integer(2)), ("store", .string(try scene.store(scene.shard))),
            ]))
        let leader = try scene.leader(saying: words)
        let (status, log) = try scene.shard.refusal(["--follow", scene.shard.url])
        #expect(status == 1 && log.contains(words), "\(log)")
        for command in [["replicas"], ["restore", "--verify-only"]] {
            let result = try scene.shard.command([command[0], scene.shard.url] + command[1...])
            #expect(result.status == 1 && result.errors.contains(words), "\(result.errors)")
        }
        try scene.shard.put("store.json", old)
        try scene.goOn(leader)
    }

    @Test("A segment of a newer version: leader and follower stop before it")
    func newerSegment() throws {
        let scene = try Scene()
        let name = ShardNames.log(UInt64(scene.last + 1))
        var segment = try #require(try scene.shard.object(ShardNames.log(UInt64(scene.last))))
        segment[8] = 2
        try scene.shard.put(name, segment)
        let words = "the object \(name) has the version 2; this program reads 1: use a newer one"
        let leader = try scene.leader(saying: words)
        try scene.follower.waitForLog(words)
        #expect(try scene.follower.replication("segment") == scene.last)
        let restored = try scene.shard.command("restore", scene.shard.url, "--verify-only")
        #expect(restored.status == 1 && restored.errors.contains(words), "\(restored.errors)")
        try scene.shard.delete(name)
        try scene.goOn(leader)
    }

    @Test("A segment of another shard under the next name")
    func foreignSegment() throws {
        let scene = try Scene()
        // Where the other's log is shorter its number is another, too.
        let theirs = try #require(try scene.other.object(ShardNames.log(1)))
        let name = ShardNames.log(UInt64(scene.last + 1))
        try scene.shard.put(name, theirs)
        let leader = try scene.leader(saying: "the object \(name)")
        try scene.follower.waitForLog("the object \(name)")
        #expect(try scene.follower.role() == "follower")
        try scene.shard.delete(name)
        try scene.goOn(leader)
    }

    @Test("Another shard copied over the end of this one")
    func foreignTail() throws {
        let scene = try Scene()
        let theirs = try Segment(try #require(try scene.other.object(ShardNames.log(1))))
        let number = UInt64(scene.last + 1)
        let name = ShardNames.log(number)
        // As the other shard would have it at this place.
        let head = Segment.Head(
            kind: .batches, storeID: theirs.head.storeID, epoch: 9, nonce: .random(),
            previous: LogPosition(number: number - 1, hash: theirs.position.hash), sequence: 99,
            time: theirs.head.time)
        try scene.shard.put(name, Segment(head).bytes)
        let words =
            "the object \(name) is of the store \(try scene.store(scene.other)), and this shard is of \(try scene.store(scene.shard)): another shard was copied here"
        let leader = try scene.leader(saying: words)
        try scene.follower.waitForLog(words)
        let restored = try scene.shard.command("restore", scene.shard.url, "--verify-only")
        #expect(restored.status == 1 && restored.errors.contains(words), "\(restored.errors)")
        // A running leader meets one, too.
        try scene.shard.delete(name)
        try scene.goOn(leader)
    }

    @Test("A segment of another shard comes under the name that a running leader takes next")
    func foreignNext() throws {
        let scene = try Scene()
        let leader = try scene.shard.leader(in: scene.folder, "--max-unreplicated", "1s")
        try leader.wait(for: "it publishes") { try $0.publish("2").status < 300 }
        let theirs = try Segment(try #require(try scene.other.object(ShardNames.log(1))))
        // Its next names are held back until one of them is taken.
        scene.shard.fail { $0.isSegment("PUT") ? [.error(500, "InternalError")] : nil }
        let number = UInt64(try scene.shard.names("log/").count + 1)
        let name = ShardNames.log(number)
        let head = Segment.Head(
            kind: .fence, storeID: theirs.head.storeID, epoch: 9, nonce: .random(),
            previous: LogPosition(number: number - 1, hash: theirs.position.hash), sequence: 99,
            time: theirs.head.time)
        try scene.shard.put(name, Segment(head).bytes)
        scene.shard.mend()
        try leader.waitForLog("the object \(name) is of the store \(theirs.head.storeID)")
        #expect(try leader.role() == "leader")
        #expect(try leader.publish("local", ack: "local").status == 201)
        try scene.shard.delete(name)
        try scene.goOn(leader)
    }

    @Test("A newer epoch of another shard deposes nobody")
    func foreignEpoch() throws {
        let scene = try Scene()
        let name = ShardNames.epoch(7)
        try scene.shard.put(name, try #require(try scene.other.object(ShardNames.epoch(1))))
        // It begins an epoch above that one: what is in the log decides, and there is nothing of it.
        let leader = try scene.shard.leader(in: scene.folder)
        try leader.waitForLog("Leading epoch 8 of")
        for id in ["local", "2"] { #expect(try leader.publish(id).status == 201) }
        try scene.goOn(leader)
    }

    @Test("A base of another shard: no follower begins with it")
    func foreignBase() throws {
        let scene = try Scene()
        for name in try scene.other.names("base/") {
            let number = try #require(name.split(separator: "/").dropFirst().first)
            #expect(number.hasPrefix("0000"))
            try scene.shard.put(name, try #require(try scene.other.object(name)))
        }
        for name in try scene.shard.names("base/")
        where try !scene.other.names("base/").contains(name) { try scene.shard.delete(name) }
        let (status, log) = try scene.shard.refusal(["--follow", scene.shard.url])
        #expect(status == 1)
        #expect(log.contains("the object base/") && log.contains("is of the store"), "\(log)")
    }

    @Test("store.json of another shard: the leader says whose, and serves")
    func foreignStore() throws {
        let scene = try Scene()
        let old = try #require(try scene.shard.object("store.json"))
        try scene.shard.put("store.json", try #require(try scene.other.object("store.json")))
        let leader = try scene.leader(
            saying: "\(scene.shard.url) has the store \(try scene.store(scene.other)), led by")
        try scene.shard.put("store.json", old)
        try scene.goOn(leader)
    }
}
