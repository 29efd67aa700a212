import Glibc
import TestSupport
import Testing

@testable import BlobServer

/// `GET /metrics`: what it says is what was counted from outside.
@Suite(.waiting) struct MetricsTests {
    /// The samples of a scrape, by name with labels.
    private static func scrape(_ daemon: DaemonProcess) throws -> [String: Double] {
        let answer = try daemon.request("GET", "/metrics")
        #expect(answer.status == 200)
        #expect(answer["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        var samples: [String: Double] = [:]
        for line in answer.text.split(separator: "\n") where !line.hasPrefix("#") {
            let end = try #require(line.lastIndex(of: " "), "\(line)")
            let value = try #require(Double(line[line.index(after: end)...]), "\(line)")
            #expect(samples.updateValue(value, forKey: String(line[..<end])) == nil, "\(line)")
        }
        return samples
    }

    @Test("Requests are counted by operation and status, each once, in both dialects")
    func requests() throws {
        let daemon = try DaemonProcess(["--workers", "2"])
        var random = SeededGenerator(seed: testSeed(12))
        var expected: [String: Double] = [:]
        func count(_ operation: String, _ code: Int) {
            let key = "blobd_requests_total{operation=\"\(operation)\",code=\"\(code)\"}"
            expected[key, default: 0] += 1
        }
        let binary = try daemon.connectBinary()
        count("probe", 200)
        for number in 0..<300 {
            let id = "\(random.below(40))"
            switch random.below(12) {
            case 0, 1:
                count("publish", Int(try daemon.put(id, random.bytes(200)).status))
            case 2:
                let path = "/v1/notifications/\(id)/payload"
                count("fetch", Int(try daemon.request("GET", path).status))
            case 3:
                let path = "/api/notifications/\(id)"
                let answer = try daemon.request("GET", path, ["Range": "bytes=10-19"])
                #expect(answer.status == 206 || answer.status == 404)
                count("fetch", Int(answer.status))
            case 4:
                count("fetch", Int(try binary.exchange(getFrame(id)).status))
            case 5:
                count("record", Int(try daemon.request("GET", "/v1/notifications/\(id)").status))
            case 6:
                let answer = try daemon.request("DELETE", "/v1/notifications/\(id)")
                count("delete", Int(answer.status))
            case 7:
                count("changes", Int(try daemon.request("GET", "/v1/users/u\(id)/changes").status))
            case 8:
                let head = try daemon.connect().request("HEAD", "/v1/notifications/\(id)/payload")
                count("fetch", head.status)
            case 9:
                let same = try daemon.request(
                    "GET", "/v1/notifications/\(id)/payload", ["If-None-Match": "*"])
                count("fetch", same.status)
            case 10:
                let client = try daemon.connect()
                let request = httpRequest("GET", "/v1/notifications/\(id)/payload")
                client.send(Array(repeatElement(request, count: 20).joined()))
                for _ in 0..<20 { count("fetch", try client.answer().status) }
            default:
                count("unknown", Int(try daemon.request("GET", "/nothing/\(number)").status))
            }
        }
        var samples = try Self.scrape(daemon)
        let requests = samples.filter { $0.key.hasPrefix("blobd_requests_total") }
        #expect(requests == expected, "seed \(random.seed)")
        // Each has its time.
        for operation in ["fetch", "publish", "record", "delete", "changes", "unknown"] {
            let count = expected.filter { $0.key.contains("\"\(operation)\"") }.values.reduce(0, +)
            let name = "blobd_request_duration_seconds"
            let label = "operation=\"\(operation)\""
            // A fetch's time is noted once it is sent, when its client may have gone on already.
            let patience = Patience()
            while samples["\(name)_count{\(label)}"] != count {
                try patience.wait(orThrow: "not every \(operation) has its time")
                samples = try Self.scrape(daemon)
            }
            #expect(samples["\(name)_count{\(label)}"] == count, "\(operation)")
            #expect(samples["\(name)_bucket{\(label),le=\"+Inf\"}"] == count, "\(operation)")
            #expect(try #require(samples["\(name)_sum{\(label)}"]) > 0)
        }
        // Connections that have ended are noticed a little later.
        let patience = Patience()
        while try Self.scrape(daemon)["blobd_connections"] != 2 {
            try patience.wait(orThrow: "there are not two connections")
        }
    }

    @Test("The store's bytes are those of its statistics and of the file system")
    func store() throws {
        let daemon = try DaemonProcess()
        var random = SeededGenerator(seed: 3)
        for id in 0..<20 { #expect(try daemon.put("\(id)", random.bytes(5_000)).status == 201) }
        #expect(try daemon.put("copy", random.bytes(1)).status == 201)
        try daemon.waitUntil("log_batches") { $0 == 0 }
        for (kind, counter) in [
            ("live", "bytes_stored"), ("free", "free_bytes"), ("file", "file_bytes"),
            ("allocated", "allocated_bytes"), ("referenced", "bytes_referenced"),
            ("orphaned", "orphan_bytes"),
        ] {
            // The writer may free pages between the two looks.
            try daemon.wait(for: kind) {
                try Self.scrape($0)["blobd_store_bytes{kind=\"\(kind)\"}"]
                    == Double($0.statistic(counter))
            }
        }
        let samples = try Self.scrape(daemon)
        #expect(samples["blobd_store_bytes{kind=\"live\"}"] == 100_001)
        #expect(samples["blobd_notifications"] == 21)
        #expect(samples["blobd_changes_total{kind=\"publish\"}"] == 21)
        #expect(samples["blobd_wal_bytes"] == 0)
        #expect(samples["blobd_expiry_lag_seconds"] == 0)
        var status = stat()
        #expect(stat("\(daemon.dataPath)/data.mdb", &status) == 0)
        #expect(samples["blobd_store_bytes{kind=\"file\"}"] == Double(status.st_size))
        #expect(try #require(samples["blobd_wal_write_duration_seconds_count"]) >= 1)
        #expect(try #require(samples["blobd_commit_duration_seconds_count"]) >= 1)
        let version = try daemon.request("GET", "/v1/stats").member("version") ?? ""
        #expect(samples["blobd_build_info{version=\"\(version)\"}"] == 1)
    }

    @Test("MONITORING.md has each metric of the table")
    func documents() {
        let monitoring = Files.text("\(Files.package)/docs/MONITORING.md")
        let families = Set(Figure.all.compactMap { $0.sample?.family })
        #expect(families.count > 25)
        for family in families {
            #expect(
                monitoring.contains("`\(family)`") || monitoring.contains("`\(family){"),
                "\(family)")
        }
    }

    @Test("Each member of the statistics, and each cell of blobd top, is of one row")
    func rows() {
        let names = Figure.all.compactMap(\.name)
        #expect(Set(names).count == names.count)
        let cells = Figure.all.compactMap(\.cell)
        #expect(Set(cells.map { "\($0.part) \($0.place)" }).count == cells.count)
    }

    @Test(
        "The alert rules do what their tests say",
        .enabled(if: isInstalled("promtool"), "needs promtool"))
    func rules() throws {
        let rules = "\(Files.package)/docs/prometheus/blobd.rules.test.yml"
        let (end, output, errors) = try run(["promtool", "test", "rules", rules])
        #expect(end.code == 0, "\(String(decoding: output, as: UTF8.self)) \(errors)")
    }

    @Test(
        "A real Prometheus answers each query of the dashboard and of the alerts",
        .enabled(if: isInstalled("prometheus"), "needs prometheus"))
    func dashboard() throws {
        let daemon = try DaemonProcess()
        #expect(try daemon.put("1", [1]).status == 201)
        #expect(try daemon.request("GET", "/api/notifications/1").status == 200)
        #expect(try daemon.request("GET", "/api/notifications/2").status == 404)
        let (end, output, errors) = try run(
            ["timeout", "900", "\(Files.package)/Scripts/dashboard-check", daemon.socketPath])
        #expect(end.code == 0, "\(String(decoding: output, as: UTF8.self)) \(errors)")
    }

    @Test("promtool finds nothing to say", .enabled(if: isInstalled("promtool"), "needs promtool"))
    func promtool() throws {
        let daemon = try DaemonProcess()
        #expect(try daemon.put("1", [1]).status == 201)
        #expect(try daemon.request("GET", "/api/notifications/1").status == 200)
        #expect(try daemon.request("GET", "/api/notifications/2").status == 404)
        let metrics = try daemon.request("GET", "/metrics").body
        let (end, output, errors) = try run(["promtool", "check", "metrics"], input: metrics)
        let words = String(decoding: output, as: UTF8.self) + errors
        #expect(end.code == 0 && words.isEmpty, "\(words)")
    }
}

/// Whether a program is found in the path.
func isInstalled(_ program: String) -> Bool {
    let path = getenv("PATH").map { String(cString: $0) } ?? ""
    return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
}
