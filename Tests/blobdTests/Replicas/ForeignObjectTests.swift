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
        /// The number of the last segment, which the follower has.
        var last: Int {
            get throws {
                let last = try shard.names("log/").count
                try follower.wait(for: "it is not up to date") {
                    try $0.replication("segment") == last
                }
                return last
            }
        }

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
        }

        func store(_ shard: ProxiedShard) throws -> String {
            try StoreDocument(shard.object("store.json") ?? []).storeID
        }

        /// Starts the leader, and waits for its words. It takes what it need not replicate, unless an earlier run has
        /// left too old changes.
        func leader(saying words: String) throws -> DaemonProcess {
            let offset = Files.text(folder.path("log")).utf8.count
            let leader = try shard.leader(in: folder, "--max-unreplicated", "1s")
            try leader.waitForLog(words, after: offset)
            let local = try leader.publish("local", ack: "local")
            #expect(local.status < 300 || local.code == "unreplicated", "\(local.text)")
            #expect(try leader.publish("2").code == "unreplicated")
            #expect(try leader.has("1") && leader.has("local"))
            return leader
        }

        /// All continues. What was refused before it was stored, because the second was over before it came, is sent again.
        func goOn(_ leader: DaemonProcess) throws {
            try leader.wait(for: "it does not go on") { try $0.publish("3").status < 300 }
            if try !leader.has("2") { #expect(try leader.publish("2").status < 300) }
            try follower.wait(for: "it does not follow") {
                try $0.has("3") && $0.has("local") && $0.has("2")
            }
            #expect(try follower.role() == "follower" && leader.role() == "leader")
        }
    }

    /// What is put below the prefix, and what is said of it.
    private struct Foreign {
        let name: String
        let bytes: [UInt8]
        let words: String
        /// Whether the follower meets it, too, and a restore.
        var isInLog = true
    }

    private static func objects(_ scene: Scene) throws -> [Foreign] {
        let last = try scene.last
        let next = ShardNames.log(UInt64(last + 1))
        let (own, theirs) = (try scene.store(scene.shard), try scene.store(scene.other))
        var newer = try #require(try scene.shard.object(ShardNames.log(UInt64(last))))
        newer[8] = 2
        let first = try #require(try scene.other.object(ShardNames.log(1)))
        return [
            Foreign(
                name: "store.json",
                bytes: Document.bytes([
                    ("version", .integer(3)), ("store", .string(own)),
                ]),
                words:
                    "the object store.json has format version 3, but this program reads only version 2: upgrade blobd",
                isInLog: false),
            // With packs.
            Foreign(
                name: "store.json",
                bytes: Document.bytes([
                    ("version", .integer(1)), ("store", .string(own)),
                ]),
                words:
                    "the object store.json has format version 1, but this program reads only version 2: begin a shard under another prefix with a backup of the leader, or with what the blobd that wrote this one restores",
                isInLog: false),
            Foreign(
                name: "store.json", bytes: try #require(try scene.other.object("store.json")),
                words: "\(scene.shard.url) contains the store \(theirs), but", isInLog: false),
            Foreign(
                name: next, bytes: newer,
                words:
                    "the object \(next) has format version 2, but this program reads only version 1: upgrade blobd"
            ),
            // Where the other's log is shorter its number is another, too.
            Foreign(name: next, bytes: first, words: "the object \(next)"),
            // As the other shard would have it at this place.
            Foreign(
                name: next, bytes: try foreignSegment(scene, .batches, last + 1),
                words:
                    "the object \(next) belongs to the store \(theirs), but this shard to \(own): another shard was copied here"
            ),
        ]
    }

    /// A segment of the other shard with the number that comes next in this one.
    private static func foreignSegment(
        _ scene: Scene, _ kind: Segment.Kind, _ number: Int
    ) throws -> [UInt8] {
        let theirs = try Segment(try #require(try scene.other.object(ShardNames.log(1))))
        let head = Segment.Head(
            kind: kind, storeID: theirs.head.storeID, epoch: 9, nonce: .random(),
            previous: LogPosition(number: UInt64(number - 1), hash: theirs.position.hash),
            sequence: 99, time: theirs.head.time)
        return Segment(head).bytes
    }

    @Test("The leader serves what it has, the follower stops before it, and nobody begins with it")
    func foreign() throws {
        let scene = try Scene()
        for index in 0..<5 {
            let last = try scene.last
            let foreign = try Self.objects(scene)[index]
            let old = try scene.shard.object(foreign.name)
            let offset = scene.follower.log.utf8.count
            try scene.shard.put(foreign.name, foreign.bytes)
            let leader = try scene.leader(saying: foreign.words)
            if foreign.isInLog {
                try scene.follower.waitForLog(foreign.words, after: offset)
                #expect(try scene.follower.replication("segment") == last)
            } else if foreign.words.contains("version") {
                let (status, log) = try scene.shard.refusal(["--follow", scene.shard.url])
                #expect(status == 1 && log.contains(foreign.words), "\(log)")
                let replicas = try scene.shard.command("replicas", scene.shard.url)
                #expect(replicas.status == 1 && replicas.errors.contains(foreign.words))
            }
            if foreign.isInLog || foreign.words.contains("version") {
                let restored = try scene.shard.command("restore", scene.shard.url, "--verify-only")
                #expect(
                    restored.status == 1 && restored.errors.contains(foreign.words),
                    "\(restored.errors)")
            }
            if let old {
                try scene.shard.put(foreign.name, old)
            } else {
                try scene.shard.delete(foreign.name)
            }
            try scene.goOn(leader)
            leader.stop()
        }
    }

    @Test("A segment of another shard comes under the name that a running leader takes next")
    func foreignNext() throws {
        let scene = try Scene()
        let leader = try scene.shard.leader(in: scene.folder, "--max-unreplicated", "1s")
        try leader.wait(for: "it publishes") { try $0.publish("2").status < 300 }
        // Its next names are held back until one of them is taken.
        scene.shard.fail { $0.isSegment("PUT") ? [.error(500, "InternalError")] : nil }
        let number = try scene.shard.names("log/").count + 1
        let name = ShardNames.log(UInt64(number))
        try scene.shard.put(name, try Self.foreignSegment(scene, .fence, number))
        scene.shard.mend()
        try leader.waitForLog(
            "the object \(name) belongs to the store \(try scene.store(scene.other))")
        #expect(try leader.role() == "leader")
        // What was too much a moment ago may be thought so a moment longer.
        try leader.wait(for: "local changes are refused") {
            try $0.publish("local", ack: "local").status == 201
        }
        try scene.shard.delete(name)
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
        #expect(log.contains("the object base/") && log.contains("belongs to the store"), "\(log)")
    }
}
