import BlobProtocol
import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

/// `--max-bytes`, `--max-notifications`, `--owner-max-bytes`, `--owner-max-notifications` and
/// `--min-free-disk`.
@Suite(.waiting) struct QuotaDaemonTests {
    private static func bytes(_ count: Int, _ seed: Int) -> [UInt8] {
        var random = SeededGenerator(seed: UInt64(seed))
        return random.bytes(count)
    }

    @Test("Sixteen publishers race: the sum is the limit, to the byte, and all that fits is stored")
    func race() throws {
        let daemon = try DaemonProcess([
            "--max-bytes", "300000", "--owner-max-notifications", "30",
        ])
        struct Seen: Sendable {
            var stored = 0
            var byteCount = 0
            var storedOfOwner: [Int: Int] = [:]
            var failures: [String] = []
        }
        let seen = Mutex(Seen())
        let group = DispatchGroup()
        for publisher in 0..<16 {
            DispatchQueue(label: "publisher \(publisher)").async(group: group) {
                do {
                    // Every second one in the binary protocol. Bytes that no two have alike.
                    let speaker = try Speaker(daemon, isBinary: publisher % 2 == 1)
                    let owner = publisher % 4
                    for number in 0..<60 {
                        let count = 1_000 + (publisher * 61 + number * 37) % 4_000
                        let body = Self.bytes(count, publisher * 1_000 + number)
                        speaker.client.send(
                            try speaker.putRequest(
                                "\(publisher)-\(number)", body, owner: owner == 3 ? "" : "o\(owner)"
                            ))
                        let answer = try speaker.answer()
                        let code = jsonMember(
                            String(decoding: answer.body, as: UTF8.self), "code")
                        seen.withLock {
                            switch answer.status {
                            case 201, 200:
                                $0.stored += 1
                                $0.byteCount += count
                                $0.storedOfOwner[owner, default: 0] += 1
                            case 507, 429:
                                if code != "quota_exceeded" { $0.failures.append("\(code ?? "")") }
                            default: $0.failures.append("\(answer.status)")
                            }
                        }
                    }
                } catch {
                    seen.withLock { $0.failures.append("\(error)") }
                }
            }
        }
        group.wait()
        let result = seen.withLock { $0 }
        #expect(result.failures == [])
        #expect(try daemon.statistic("notifications") == result.stored)
        let stored = try daemon.statistic("bytes_stored")
        #expect(stored == result.byteCount && stored <= 300_000)
        for owner in 0..<3 { #expect(result.storedOfOwner[owner] ?? 0 <= 30) }
        // Nothing that fits is left out: the rest is taken to the byte.
        #expect(try daemon.put("last", Self.bytes(300_000 - stored, 99_999)).status == 201)
        #expect(try daemon.statistic("bytes_stored") == 300_000)
        #expect(try daemon.put("more", [1]).status == 507)
        #expect(daemon.stop() == 0)
        #expect(try blobd(["verify", "--data", daemon.dataPath]).status == 0)
    }

    @Test("A refusal names the setting, the limit and the use, in both dialects")
    func refusals() throws {
        let daemon = try DaemonProcess([
            "--max-bytes", "10KB", "--max-notifications", "3", "--owner-max-bytes", "2000",
            "--owner-max-notifications", "2",
        ])
        let binary = try daemon.connectBinary()
        func expect(
            _ id: String, _ body: [UInt8], owner: String = "", status: Int, setting: String,
            limit: Int, used: Int, _ location: SourceLocation = #_sourceLocation
        ) throws {
            let http = try daemon.put(id, body, query: "?owner=\(owner)")
            let answer = try binary.exchange(
                try putFrame(Put.Draft(id: id, owner: owner), body: body))
            for (found, text) in [
                (http.status, http.text), (Int(answer.status), answer.text),
            ] {
                #expect(found == status, sourceLocation: location)
                #expect(jsonMember(text, "code") == "quota_exceeded", sourceLocation: location)
                #expect(jsonMember(text, "status") == "\(status)", sourceLocation: location)
                #expect(jsonMember(text, "setting") == setting, sourceLocation: location)
                #expect(jsonMember(text, "limit") == "\(limit)", sourceLocation: location)
                #expect(jsonMember(text, "used") == "\(used)", sourceLocation: location)
                let detail = jsonMember(text, "detail") ?? ""
                for word in [setting, "\(limit)", "\(used)"] {
                    #expect(detail.contains(word), "\(text)", sourceLocation: location)
                }
            }
        }
        #expect(try daemon.put("a", Self.bytes(1_500, 1), query: "?owner=anna").status == 201)
        try expect(
            "b", Self.bytes(501, 2), owner: "anna", status: 429, setting: "owner-max-bytes",
            limit: 2_000, used: 1_500)
        #expect(try daemon.put("b", Self.bytes(500, 2), query: "?owner=anna").status == 201)
        try expect(
            "c", [], owner: "anna", status: 429, setting: "owner-max-notifications", limit: 2,
            used: 2)
        try expect(
            "c", Self.bytes(8_001, 3), status: 507, setting: "max-bytes", limit: 10_000,
            used: 2_000)
        #expect(try daemon.put("c", Self.bytes(8_000, 3)).status == 201)
        try expect("d", [], status: 507, setting: "max-notifications", limit: 3, used: 3)
        #expect(try daemon.statistic("quota_exceeded") == 8)

        // What does not grow goes on.
        let patched = try daemon.request(
            "PATCH", "/v1/notifications/a", ["Content-Type": "application/merge-patch+json"],
            body: Array(#"{"read":true,"message":"hello"}"#.utf8))
        #expect(patched.status == 200, "\(patched.text)")
        #expect(try daemon.request("GET", "/v1/notifications/c/payload").status == 200)
        #expect(try daemon.put("c", Self.bytes(7_999, 4)).status == 200)
        #expect(try daemon.request("DELETE", "/v1/notifications/c").status == 204)
        #expect(try daemon.put("c", Self.bytes(8_000, 3)).status == 201)

        let text = try daemon.run("stats").text
        for line in [
            "max-bytes               10.0 kB of 10.0 kB", "max-notifications       3 of 3",
            "owner-max-bytes         each owner 2.0 kB", "owner-max-notifications each owner 2",
        ] {
            #expect(text.contains(line), "\(text)")
        }
        let json = try daemon.run("stats", "--json").text
        #expect(
            json.contains(
                #""quotas":{"max_bytes":10000,"max_notifications":3,"owner_max_bytes":2000,"owner_max_notifications":2}"#
            ), "\(json)")
    }

    @Test("Whole notifications, batches and uploads are held against quotas")
    func resources() throws {
        let daemon = try DaemonProcess(["--max-bytes", "1000", "--max-notifications", "2"])
        for dialect in TestDialect.allCases {
            let client = try ResourceClient(dialect, daemon)
            func multipart(_ counts: [Int]) throws -> ResourceReplySeen {
                let names = counts.indices.map { "p\($0)" }
                let document =
                    "{\"parts\":[\(names.map { "{\"name\":\"\($0)\"}" }.joined(separator: ","))]}"
                let files = counts.enumerated().map { index, count in
                    (
                        name: names[index], type: String?.none,
                        bytes: Self.bytes(count, 70 + index + count)
                    )
                }
                return try client.perform(
                    ResourceCall(
                        .put, "/v1/notifications/m", bytes: multipartBody(document, files: files),
                        type: multipartType))
            }
            #expect(try multipart([500, 501]).code == "quota_exceeded")
            #expect(try daemon.statistic("notifications") == 0)
            #expect(try multipart([500, 400]).status == 201)
            let blob = Self.bytes(101, 5)
            #expect(
                try client.perform(
                    ResourceCall(.post, "/v1/blobs", bytes: blob, type: "image/png")
                ).code == "quota_exceeded")
            let lines = try client.perform(
                ResourceCall(
                    .post, "/v1/notifications:batch",
                    "{\"id\":\"x\",\"message\":\"1\"}\n{\"id\":\"y\",\"message\":\"2\"}\n{\"id\":\"x\",\"message\":\"3\"}\n",
                    type: "application/x-ndjson"))
            let statuses = lines.text.split(separator: "\n").map { jsonMember("\($0)", "status") }
            #expect(statuses == ["201", "507", "200"], "\(lines.text)")
            for id in ["m", "x"] {
                #expect(try daemon.request("DELETE", "/v1/notifications/\(id)").status == 204)
            }
        }
    }

    @Test("A store at its quota is not ready, and says why")
    func readiness() throws {
        let daemon = try DaemonProcess(["--max-bytes", "1000"])
        #expect(try daemon.put("a", Self.bytes(900, 1)).status == 201)
        #expect(try daemon.request("GET", "/readyz").status == 200)
        // One that would not fit an empty store says nothing of this one.
        #expect(try daemon.put("b", Self.bytes(1_001, 2)).status == 507)
        #expect(try daemon.request("GET", "/readyz").status == 200)
        #expect(try daemon.put("b", Self.bytes(101, 2)).status == 507)
        let answer = try daemon.request("GET", "/readyz")
        #expect(answer.status == 503 && answer.code == "unavailable", "\(answer.text)")
        #expect(answer.member("reason") == "quota_exceeded")
        #expect(answer.member("setting") == "max-bytes" && answer.member("limit") == "1000")
        #expect(answer.member("used") == "900", "\(answer.text)")
        let ping = try daemon.connectBinary().exchange(frame(.ping))
        #expect(ping.status == 507 && ping.code == "quota_exceeded")
        #expect(daemon.log.contains("max-bytes is 1000 bytes"), "\(daemon.log)")
        #expect(try daemon.request("DELETE", "/v1/notifications/a").status == 204)
        let patience = Patience()
        while try daemon.request("GET", "/readyz").status != 200 {
            try patience.wait(orThrow: "it does not get ready again")
        }
        #expect(try daemon.put("b", Self.bytes(101, 2)).status == 201)
    }

    @Test("Nothing grows while the file system has less than --min-free-disk")
    func freeDisk() throws {
        let folder = TemporaryFolder()
        do {
            let daemon = try DaemonProcess(in: folder)
            #expect(try daemon.put("a", Self.bytes(900, 1)).status == 201)
            #expect(daemon.stop() == 0)
        }
        let daemon = try DaemonProcess(["--min-free-disk", "1048576TiB"], in: folder)
        let refused = try daemon.put("b", [1])
        #expect(refused.status == 507 && refused.code == "quota_exceeded", "\(refused.text)")
        #expect(refused.member("setting") == "min-free-disk")
        #expect(Int(refused.member("free") ?? "") ?? 0 > 0, "\(refused.text)")
        let answer = try daemon.request("GET", "/readyz")
        #expect(answer.status == 503 && answer.member("setting") == "min-free-disk")
        #expect(try daemon.request("GET", "/v1/notifications/a/payload").status == 200)
        #expect(try daemon.put("a", Self.bytes(899, 1)).status == 200)
        #expect(try daemon.request("DELETE", "/v1/notifications/a").status == 204)
        #expect(try daemon.run("stats").text.contains(" free; at least "))
    }

    @Test("A quota out of its bounds is refused by name")
    func bounds() throws {
        let result = try blobd([
            "serve", "--data", "/nonexistent/d", "--socket", "/nonexistent/s", "--max-bytes",
            "2097152TiB",
        ])
        #expect(result.status != 0)
        #expect(result.errors.contains("--max-bytes"), "\(result.errors)")
        #expect(result.errors.contains("2097152TiB"), "\(result.errors)")
    }

    @Test("Quotas are changed by SIGHUP, and one below what is there refuses growth alone")
    func reload() throws {
        let folder = TemporaryFolder()
        let path = "\(folder)/blobd.yaml"
        try Files.write(Array("max-notifications: 10\n".utf8), to: path)
        let daemon = try DaemonProcess(["--config", path], in: folder)
        #expect(try daemon.put("a", [1]).status == 201)
        #expect(try daemon.put("b", [2]).status == 201)
        try Files.write(Array("max-notifications: 1\n".utf8), to: path)
        daemon.signal(SIGHUP)
        try daemon.waitUntil("max_notifications") { $0 == 1 }
        let refused = try daemon.put("c", [3])
        #expect(refused.status == 507 && refused.member("used") == "2", "\(refused.text)")
        #expect(try daemon.put("a", [3]).status == 200)
        try Files.write(Array("max-notifications: 0\n".utf8), to: path)
        daemon.signal(SIGHUP)
        let patience = Patience()
        while try daemon.put("c", [3]).status != 201 {
            try patience.wait(orThrow: "the quota does not go")
        }
    }
}
