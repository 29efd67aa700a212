import TestSupport
import Testing

/// Damage on one host of a shard is that host's alone, and is mended with the bucket's bytes.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct DamagedReplicaTests {
    private static let count = 4

    private static func bytes(_ number: Int) -> [UInt8] {
        SeededGenerator.bytes(300_000, seed: UInt64(700 + number))
    }

    private func daemon(_ arguments: String...) throws -> DaemonProcess {
        let exports = try ObjectServer.shared(.moto).variables
            .map { "export \($0)='\($1)';" }.joined()
        return try DaemonProcess(arguments + ["--sweep-interval", "20ms"], shell: exports)
    }

    private func damage(_ payload: [UInt8], of daemon: DaemonProcess) throws {
        let path = "\(daemon.dataPath)/data.mdb"
        let data = try Files.read(path)
        let place = try #require(data.firstRange(of: Array(payload[150_000..<150_064])))
        try Files.overwrite([data[place.lowerBound] ^ 0x10], at: place.lowerBound, in: path)
    }

    /// `scrub --wait` waited for ever on a follower, without a line in the log. On a leader the quarantine
    /// was shipped, and took the sound payloads of its followers away.
    @Test("Damaged payloads of a leader and a follower are found by scrub, and served again")
    func mended() throws {
        let shard = "s3://test/damaged-\(UInt64.random(in: 0...(.max)))"
        let leader = try daemon("--replicate", shard, "--ack", "replicated")
        for number in 0..<Self.count {
            #expect(try leader.put("id-\(number)", Self.bytes(number)).status == 201)
        }
        let follower = try daemon("--follow", shard)
        let patience = Patience()
        while try follower.request("HEAD", "/v1/notifications/id-3/payload").status != 200 {
            try patience.wait(orThrow: "it does not follow: \(follower.log)")
        }
        for host in [follower, leader] {
            for number in 0..<Self.count { try damage(Self.bytes(number), of: host) }
            let scrub = try host.run("scrub", "--wait", "--json")
            #expect(jsonMember(scrub.text, "corrupt_chunks") == "\(Self.count)", "\(scrub.text)")
            try host.waitUntil("quarantined") { $0 == 0 }
            #expect(host.log.contains("Quarantined sha256:"), "\(host.log)")
            while !host.log.contains("Mended sha256:") {
                try patience.wait(orThrow: "nothing is mended: \(host.log)")
            }
            for other in [follower, leader] {
                for number in 0..<Self.count {
                    let answer = try other.request("GET", "/v1/notifications/id-\(number)/payload")
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
