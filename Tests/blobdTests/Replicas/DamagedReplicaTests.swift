import TestSupport
import Testing

/// Damage on one host of a shard is that host's alone, and is mended with the bucket's bytes.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct DamagedReplicaTests {
    private static let count = 4

    private static func bytes(_ number: Int) -> [UInt8] {
        SeededGenerator.bytes(300_000, seed: UInt64(700 + number))
    }

    /// The first one got 500, though the bucket has the bytes.
    @Test("Who fetches a damaged payload first waits for the bucket's bytes")
    func fetchedFirst() throws {
        let shard = try ProxiedShard(isDirect: true)
        let folder = TemporaryFolder()
        do {
            let leader = try shard.leader(in: folder, "--ack", "replicated")
            #expect(try leader.put("id", Self.bytes(9)).status == 201)
            // Its commit says that the bucket has the other one.
            #expect(try leader.publish("later").status == 201)
            #expect(leader.stop() == 0)
            try leader.damage(Self.bytes(9))
        }
        let leader = try shard.leader(in: folder)
        let answer = try leader.fetched("id")
        #expect(answer.status == 200 && answer.body == Self.bytes(9), "\(answer.text)")
        try leader.waitForLog("Repaired sha256:")
        #expect(try leader.statistic("quarantined") == 0)
        #expect(leader.stop() == 0)
        #expect(try blobd(["verify", "--data", leader.dataPath]).status == 0)
    }

    /// `scrub --wait` waited for ever on a follower, without a line in the log. On a leader the quarantine
    /// was shipped, and took the sound payloads of its followers away.
    @Test("Damaged payloads of a leader and a follower are found by scrub, and served again")
    func mended() throws {
        let shard = try ProxiedShard(isDirect: true)
        let sweep = ["--sweep-interval", "20ms"]
        let leader = try shard.daemon(
            ["--replicate", shard.url, "--ack", "replicated"] + sweep)
        for number in 0..<Self.count {
            #expect(try leader.put("id-\(number)", Self.bytes(number)).status == 201)
        }
        let follower = try shard.daemon(["--follow", shard.url] + sweep)
        try follower.wait(for: "it does not follow") {
            try $0.request("HEAD", "/v1/notifications/id-3/payload").status == 200
        }
        for host in [follower, leader] {
            for number in 0..<Self.count { try host.damage(Self.bytes(number)) }
            let scrub = try host.run("scrub", "--wait", "--json")
            #expect(jsonMember(scrub.text, "corrupt_chunks") == "\(Self.count)", "\(scrub.text)")
            try host.waitUntil("quarantined") { $0 == 0 }
            #expect(host.log.contains("Quarantined sha256:"), "\(host.log)")
            try host.waitForLog("Repaired sha256:")
            for other in [follower, leader] {
                for number in 0..<Self.count {
                    let answer = try other.fetched("id-\(number)")
                    #expect(answer.status == 200 && answer.body == Self.bytes(number))
                }
            }
        }
        for host in [follower, leader] {
            #expect(host.stop() == 0)
            let verify = try blobd(["verify", "--data", host.dataPath])
            #expect(verify.status == 0, "\(verify.text)\(verify.errors)")
        }
    }
}
