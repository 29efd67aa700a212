import Glibc
import TestSupport
import Testing

/// `--local-bytes`: long payloads are in the bucket alone, and come back when they are asked for.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct LocalBytesTests {
    /// How often a payload was asked for.
    private static func blobGets(_ gate: FaultyProxy) -> Int {
        gate.requests.count(where: \.isForBlob)
    }

    private static func shard() -> String { "s3://test/local-\(UInt64.random(in: 0...(.max)))" }

    /// A daemon of a shard, behind a gate or not.
    private func daemon(
        _ arguments: [String], _ gate: FaultyProxy? = nil, in folder: TemporaryFolder? = nil
    ) throws -> DaemonProcess {
        var variables = try ObjectServer.shared(.moto).variables
        if let gate { variables["AWS_ENDPOINT_URL"] = gate.url }
        let exports = variables.map { "export \($0)='\($1)';" }.joined()
        return try DaemonProcess(arguments, in: folder, shell: exports)
    }

    private func number(_ name: String, of daemon: DaemonProcess) throws -> Int {
        let answer = try daemon.request("GET", "/v1/replication")
        return try #require(answer.member(name).flatMap { Int($0) }, "\(answer.text)")
    }

    private func waitUntil(
        _ what: String, _ daemon: DaemonProcess, _ condition: () throws -> Bool
    ) throws {
        let patience = Patience()
        while try !condition() { try patience.wait(orThrow: "\(what): \(daemon.log)") }
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        SeededGenerator.bytes(200_000 + number, seed: UInt64(number))
    }

    private static let count = 12

    /// A leader that may have nothing long, whose payloads are all evicted.
    private func leaderWithoutPayloads(
        _ gate: FaultyProxy?, _ shard: String, in folder: TemporaryFolder? = nil
    ) throws -> DaemonProcess {
        let leader = try daemon(["--replicate", shard, "--local-bytes", "0"], gate, in: folder)
        for number in 0..<Self.count { try leader.put("id-\(number)", Self.bytes(number)) }
        try leader.put("short", [1, 2, 3])
        try waitUntil("evicted", leader) {
            try leader.request("GET", "/metrics").text
                .contains("blobd_evictions_total \(Self.count)\n")
        }
        return leader
    }

    @Test(
        "Evicted payloads are fetched by whole, by range, and by many at once; HEAD asks for none")
    func fetched() throws {
        let gate = try FaultyProxy(to: ObjectServer.shared(.moto).port)
        let leader = try leaderWithoutPayloads(gate, Self.shard())
        #expect(Self.blobGets(gate) == 0)
        let head = try leader.request("HEAD", "/v1/notifications/id-1/payload")
        #expect(
            head.status == 200 && head["Content-Length"] == "200001" && Self.blobGets(gate) == 0)
        #expect(try leader.request("GET", "/v1/notifications/short/payload").body == [1, 2, 3])
        // All at once: one of them fetches it.
        let clients = try (0..<40).map { _ in try leader.connect() }
        for client in clients { client.sendRequest("GET", "/v1/notifications/id-1/payload") }
        for client in clients { #expect(try client.answer().body == Self.bytes(1)) }
        #expect(Self.blobGets(gate) == 1)
        let range = try leader.request(
            "GET", "/v1/notifications/id-2/payload", ["Range": "bytes=150000-150099"])
        #expect(range.status == 206 && range.body == Array(Self.bytes(2)[150_000..<150_100]))
        // Several requests of one connection, some of which have to wait: in their order.
        let client = try leader.connect()
        for name in ["id-3", "short", "id-4", "nobody", "id-3"] {
            client.sendRequest("GET", "/v1/notifications/\(name)/payload")
        }
        #expect(try client.answer().body == Self.bytes(3))
        #expect(try client.answer().body == [1, 2, 3])
        #expect(try client.answer().body == Self.bytes(4))
        #expect(try client.answer().status == 404)
        #expect(try client.answer().body == Self.bytes(3))
        // The other dialect.
        let get = try leader.run("get", "id-5")
        #expect(get.output == Self.bytes(5), "\(get.errors)")
        #expect(try leader.request("GET", "/metrics").text.contains("blobd_bucket_fetches_total"))
        #expect(leader.stop() == 0)
        let verify = try blobd(["verify", "--data", leader.dataPath])
        #expect(verify.status == 0, "\(verify.text)\(verify.errors)")
        #expect(verify.text.contains(" only in the bucket, "))
    }

    @Test("A bucket that refuses, or gives other bytes: 503, and nothing of it is sent or stored")
    func faults() throws {
        let gate = try FaultyProxy(to: ObjectServer.shared(.moto).port)
        let leader = try leaderWithoutPayloads(gate, Self.shard())
        gate.set { $0.isForBlob ? .answered([.error(403, "AccessDenied")]) : nil }
        let refused = try leader.request("GET", "/v1/notifications/id-1/payload")
        #expect(refused.status == 503 && refused.code == "unavailable", "\(refused.text)")
        #expect(refused.text.contains("bucket"))
        gate.set { request in
            guard request.isForBlob else { return nil }
            return .changed { answer in
                var answer = answer
                answer[answer.count - 1_000] ^= 1
                return answer
            }
        }
        let wrong = try leader.request("GET", "/v1/notifications/id-2/payload")
        #expect(wrong.status == 503 && wrong.text.contains("SHA-256"), "\(wrong.text)")
        gate.set(nil)
        let patience = Patience()
        for number in 1...2 {
            var answer = try leader.request("GET", "/v1/notifications/id-\(number)/payload")
            while answer.status == 503 {
                try patience.wait(orThrow: "still refused: \(answer.text)")
                answer = try leader.request("GET", "/v1/notifications/id-\(number)/payload")
            }
            #expect(answer.body == Self.bytes(number))
        }
        #expect(leader.stop() == 0)
    }

    @Test("Evicted payloads survive a kill, and a start without the limit")
    func startedAgain() throws {
        let folder = TemporaryFolder()
        let shard = Self.shard()
        do {
            let leader = try leaderWithoutPayloads(nil, shard, in: folder)
            leader.signal(SIGKILL)
            leader.wait()
        }
        let leader = try daemon(["--replicate", shard], in: folder)
        #expect(try number("evicted_payloads", of: leader) == Self.count)
        for number in 0..<Self.count {
            let answer = try leader.request("GET", "/v1/notifications/id-\(number)/payload")
            #expect(answer.body == Self.bytes(number))
        }
        #expect(try number("evicted_payloads", of: leader) == 0)
        #expect(leader.stop() == 0)
        #expect(try blobd(["verify", "--data", leader.dataPath]).status == 0)
    }

    @Test("A follower has the records and fetches what it is asked for; it can lead")
    func follower() throws {
        let shard = Self.shard()
        let leader = try leaderWithoutPayloads(nil, shard)
        let follower = try daemon(["--follow", shard, "--local-bytes", "0"])
        #expect(try number("evicted_payloads", of: follower) == Self.count)
        try leader.put("new", Self.bytes(50))
        try waitUntil("followed", follower) {
            try follower.request("HEAD", "/v1/notifications/new/payload").status == 200
        }
        #expect(try follower.request("GET", "/v1/notifications/new/payload").body == Self.bytes(50))
        #expect(try follower.request("GET", "/v1/notifications/id-7/payload").body == Self.bytes(7))
        leader.signal(SIGKILL)
        leader.wait()
        #expect(try follower.request("POST", "/v1/replication?force=true").status == 200)
        #expect(try follower.request("GET", "/v1/notifications/id-8/payload").body == Self.bytes(8))
        #expect(try follower.put("newer", Self.bytes(51)).status == 201)
        #expect(follower.stop() == 0)
        #expect(try blobd(["verify", "--data", follower.dataPath]).status == 0)
    }

    @Test("Payloads that are elsewhere are in backups and dumps")
    func elsewhere() throws {
        let folder = TemporaryFolder()
        let leader = try leaderWithoutPayloads(nil, Self.shard(), in: folder)
        // One after the other they are fetched.
        let backup = try leader.run("backup", "\(folder)/backup")
        #expect(backup.status == 0, "\(backup.errors)")
        let restored = try blobd(
            ["restore", "\(folder)/backup", "--data", "\(folder)/restored"])
        #expect(restored.status == 0, "\(restored.errors)")
        let whole = try blobd(["verify", "--data", "\(folder)/restored"])
        #expect(whole.status == 0 && !whole.text.contains("only in the bucket"), "\(whole.text)")
        let dump = try leader.run("dump", "\(folder)/dump")
        #expect(dump.status == 0, "\(dump.errors)")
        #expect(leader.stop() == 0)
        let compact = try blobd(["compact", "--data", leader.dataPath])
        #expect(compact.status == 0, "\(compact.text)\(compact.errors)")
        let verify = try blobd(["verify", "--data", leader.dataPath])
        #expect(verify.status == 0, "\(verify.text)\(verify.errors)")
    }
}
