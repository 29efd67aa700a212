import Glibc
import TestSupport
import Testing

/// `--local-bytes`: long payloads are only in the bucket, and come back when they are asked for.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct LocalBytesTests {
    private static func bytes(_ number: Int) -> [UInt8] {
        SeededGenerator.bytes(200_000 + number, seed: UInt64(number))
    }

    private static let count = 12

    /// A leader that may have nothing long, whose payloads are all evicted.
    private func leaderWithoutPayloads(
        _ shard: ProxiedShard, in folder: TemporaryFolder? = nil
    ) throws -> DaemonProcess {
        let leader = try shard.leader(in: folder, "--local-bytes", "0")
        for number in 0..<Self.count { try leader.put("id-\(number)", Self.bytes(number)) }
        try leader.put("short", [1, 2, 3])
        try leader.wait(for: "not evicted") {
            try $0.request("GET", "/metrics").text
                .contains("blobd_evictions_total \(Self.count)\n")
        }
        // Once, however often it exceeds it.
        let words = "more than --local-bytes (0)"
        #expect(leader.log.split(separator: "\n").count { $0.contains(words) } == 1)
        return leader
    }

    @Test(
        "Evicted payloads are fetched by whole, by range, and by many at once; HEAD asks for none")
    func fetched() throws {
        let shard = try ProxiedShard()
        let leader = try leaderWithoutPayloads(shard)
        #expect(shard.blobGets == 0)
        let head = try leader.request("HEAD", "/v1/notifications/id-1/payload")
        #expect(
            head.status == 200 && head["Content-Length"] == "200001" && shard.blobGets == 0)
        #expect(try leader.request("GET", "/v1/notifications/short/payload").body == [1, 2, 3])
        // All at once: one of them fetches it.
        let clients = try (0..<40).map { _ in try leader.connect() }
        leader.signal(SIGSTOP)
        for client in clients { client.sendRequest("GET", "/v1/notifications/id-1/payload") }
        leader.signal(SIGCONT)
        var isLate = false
        for client in clients {
            let answer = try client.answer()
            // One that has waited long enough is told to come again.
            isLate = isLate || answer.status == 503
            let body = answer.status == 503 ? try leader.fetched("id-1").body : answer.body
            #expect(body == Self.bytes(1))
        }
        // Who comes again may have it fetched again.
        #expect(isLate ? shard.blobGets < clients.count / 4 : shard.blobGets == 1)
        #expect(try leader.fetched("id-2").status == 200)
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
        let shard = try ProxiedShard()
        let leader = try leaderWithoutPayloads(shard)
        for (id, status, code) in [("id-1", 403, "AccessDenied"), ("id-3", 404, "NoSuchKey")] {
            shard.fail { $0.isForBlob ? [.error(status, code)] : nil }
            let refused = try leader.request("GET", "/v1/notifications/\(id)/payload")
            #expect(refused.status == 503 && refused.code == "unavailable", "\(refused.text)")
            #expect(refused.text.contains("bucket"))
        }
        shard.fail { request in
            guard request.isForBlob else { return nil }
            var answer = shard.pass(request)
            answer[answer.count - 1_000] ^= 1
            return [.send(answer), .close]
        }
        // One that is answered before the bucket is says only that.
        try leader.wait(for: "the wrong bytes are not seen") {
            let wrong = try $0.request("GET", "/v1/notifications/id-2/payload")
            #expect(wrong.status == 503, "\(wrong.text)")
            return wrong.text.contains("SHA-256")
        }
        shard.mend()
        for number in 1...3 {
            #expect(try leader.fetched("id-\(number)").body == Self.bytes(number))
        }
        #expect(leader.stop() == 0)
    }

    @Test("Evicted payloads survive a kill, and a start without the limit")
    func startedAgain() throws {
        let folder = TemporaryFolder()
        let shard = try ProxiedShard(isDirect: true)
        do {
            let leader = try leaderWithoutPayloads(shard, in: folder)
            leader.signal(SIGKILL)
            leader.wait()
        }
        let leader = try shard.leader(in: folder)
        #expect(try leader.replication("evicted_payloads") == Self.count)
        for number in 0..<Self.count {
            #expect(try leader.fetched("id-\(number)").body == Self.bytes(number))
        }
        #expect(try leader.replication("evicted_payloads") == 0)
        #expect(leader.stop() == 0)
        #expect(try blobd(["verify", "--data", leader.dataPath]).status == 0)
    }

    @Test("Payloads that are elsewhere are in backups and dumps")
    func elsewhere() throws {
        let folder = TemporaryFolder()
        let leader = try leaderWithoutPayloads(
            try ProxiedShard(isDirect: true), in: folder)
        // One after the other they are fetched, which may take longer than a backup waits for one.
        try leader.wait(for: "no backup") {
            try $0.run("backup", "\(folder)/backup").status == 0
        }
        let restored = try blobd(
            ["restore", "\(folder)/backup", "--data", "\(folder)/restored"])
        #expect(restored.status == 0, "\(restored.errors)")
        let whole = try blobd(["verify", "--data", "\(folder)/restored"])
        #expect(whole.status == 0 && !whole.text.contains("only in the bucket"), "\(whole.text)")
        try leader.wait(for: "no dump") { try $0.run("dump", "\(folder)/dump").status == 0 }
        #expect(leader.stop() == 0)
        let compact = try blobd(["compact", "--data", leader.dataPath])
        #expect(compact.status == 0, "\(compact.text)\(compact.errors)")
        let verify = try blobd(["verify", "--data", leader.dataPath])
        #expect(verify.status == 0, "\(verify.text)\(verify.errors)")
    }
}
