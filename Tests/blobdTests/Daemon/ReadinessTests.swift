import BlobProtocol
import Foundation
import TestSupport
import Testing

/// Whether the daemon can store a publish. Full is a state: publishes are refused, everything else continues.
/// `/healthz` was 200 while publishes got 507, in a store of `--map-size 16MiB` that was full.
@Suite(.waiting, .serialized) struct ReadinessTests {
    /// What a store is full of.
    enum Limit {
        /// The map of LMDB, filled with short payloads and with long ones.
        case shortMap, longMap
        /// A small file system.
        case disk
        /// The size limit of files, with the log and without it: a write over it ended the daemon by SIGXFSZ.
        case fileSize, fileSizeWithoutLog
    }

    private static func expectNotReady(_ daemon: DaemonProcess) throws {
        for path in ["/readyz", "/healthz"] {
            let answer = try daemon.request("GET", path)
            #expect(answer.status == 503 && answer.code == "unavailable", "\(answer.text)")
            #expect(answer.member("reason") == "full", "\(answer.text)")
            #expect(answer.text.contains("no space left"), "\(answer.text)")
        }
        #expect(try daemon.request("GET", "/livez").status == 200)
        #expect(try daemon.connectBinary().exchange(frame(.ping)).status == 507)
        let command = try daemon.run("ping")
        #expect(command.status == 1 && command.errors.contains("no space"), "\(command.errors)")
    }

    @Test(
        "A full store is not ready from the first refusal on, serves what it has, and is ready when there is room",
        arguments: [Limit.shortMap, .longMap])
    func fullMap(limit: Limit) throws { try fill(limit) }

    @Test(
        "So is a full disk", .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
    func fullDisk() throws { try fill(.disk) }

    @Test(
        "So is a store whose files may not grow",
        .enabled(if: access("/usr/bin/prlimit", X_OK) == 0, "needs prlimit"),
        arguments: [Limit.fileSize, .fileSizeWithoutLog])
    func fileSize(limit: Limit) throws { try fill(limit) }

    private func fill(_ limit: Limit) throws {
        let disk = limit == .disk ? try SmallDisk(byteCount: 48 << 20) : nil
        let (flags, sizes): ([String], [Int]) =
            switch limit {
            case .shortMap: (["--map-size", "16MiB"], [9_000])
            case .longMap: (["--map-size", "16MiB"], [1_000_000])
            case .disk: (["--max-payload", "2MiB"], [1_000_000])
            case .fileSize: ([], [700, 30_000, 200_000])
            case .fileSizeWithoutLog: (["--no-write-ahead-log"], [700, 30_000, 200_000])
            }
        let isFileSize = [.fileSize, .fileSizeWithoutLog].contains(limit)
        let daemon = try DaemonProcess(
            flags, in: disk?.folder,
            under: isFileSize ? ["/usr/bin/prlimit", "--fsize=\(12 << 20)"] : [])
        #expect(try daemon.request("GET", "/readyz").status == 200)
        var random = SeededGenerator(seed: 5)
        var stored: [(id: String, body: [UInt8])] = []
        var refusedCount = 0
        for number in 0..<10_000 where refusedCount < 3 {
            let body = random.bytes(sizes[number % sizes.count])
            let answer = try daemon.put("\(number)", body)
            if answer.status == 201 {
                stored.append(("\(number)", body))
            } else {
                #expect(answer.status == 507 && answer.code == "full", "\(answer.text)")
                refusedCount += 1
                if body.count == sizes.max() { try Self.expectNotReady(daemon) }
            }
        }
        #expect(refusedCount == 3 && stored.count > 8)
        for (id, body) in stored {
            #expect(try daemon.request("GET", "/v1/notifications/\(id)/payload").body == body)
        }
        for (id, _) in stored.prefix(stored.count * 2 / 3) {
            #expect(try daemon.request("DELETE", "/v1/notifications/\(id)").status == 204)
        }
        try daemon.wait(for: "it does not get ready") {
            try $0.request("GET", "/readyz").status == 200
        }
        // It is no fake: such a publish goes well.
        #expect(try daemon.put("again", random.bytes(sizes[0])).status == 201)
        #expect(try daemon.request("GET", "/healthz").body == Array("ok\n".utf8))
        #expect(daemon.stop() == 0)
        let verified = try blobd(["verify", "--data", daemon.dataPath])
        #expect(verified.status == 0, "\(verified.errors)")
    }

    @Test("A payload that would not fit an empty store says nothing of this one")
    func tooLarge() throws {
        let daemon = try DaemonProcess(["--map-size", "16MiB"])
        #expect(try daemon.put("large", SeededGenerator.bytes(20_000_000)).status == 507)
        #expect(try daemon.request("GET", "/readyz").status == 200)
        #expect(try daemon.put("small", [1]).status == 201)
        #expect(!daemon.log.contains("No space"))
        try daemon.waitForLog("refused for lack of space; shorter ones are accepted")
    }

    // There was nearly a line for each request.
    @Test("Where short publishes fit and long ones do not, the log has one line until those fit")
    func nearlyFull() throws {
        let daemon = try DaemonProcess(["--map-size", "16MiB"])
        var random = SeededGenerator(seed: 5)
        let long = random.bytes(2_000_000)
        var count = 0
        while try daemon.put("long-\(count)", random.bytes(2_000_000)).status == 201 { count += 1 }
        func lines(_ words: String) -> Int { daemon.log.components(separatedBy: words).count - 1 }
        for number in 0..<30 {
            #expect(try daemon.put("short-\(number)", [1]).status == 201)
            #expect(try daemon.put("long", long).status == 507)
            #expect(try daemon.request("GET", "/readyz").status == 503)
        }
        #expect(lines("No space") == 1 && lines("Space is available again") == 0, "\(daemon.log)")
        for number in 0..<count {
            _ = try daemon.request("DELETE", "/v1/notifications/long-\(number)")
        }
        // A publish that is stored shows it, without a probe.
        try daemon.wait(for: "it does not say that there is room") {
            try $0.put("short", [1]).status < 300 && lines("Space is available again") == 1
        }
        #expect(try daemon.request("GET", "/readyz").status == 200)
        #expect(try daemon.put("long", long).status == 201)
        #expect(lines("No space") == 1, "\(daemon.log)")
    }

    @Test(
        "A start on a full disk ends with a message and an exit code",
        .enabled(if: SmallDisk.isPossible, "mounts a small disk"))
    func start() throws {
        let disk = try SmallDisk(byteCount: 1 << 20)
        try disk.fill(leaving: 0)
        let result = try blobd([
            "serve", "--data", "\(disk.path)/data", "--socket", "\(disk.path)/s",
        ])
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.errors.hasPrefix("blobd: "))
    }

    @Test("Probes write and sync nothing, however many there are")
    func probesCostNothing() throws {
        let daemon = try DaemonProcess()
        #expect(try daemon.put("1", [1]).status == 201)
        func times() -> [Int] {
            ["data.mdb", "changes.log"].flatMap { name in
                var status = stat()
                stat("\(daemon.dataPath)/\(name)", &status)
                return [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
            }
        }
        let client = try daemon.connect()
        // What the daemon itself had to do is over by and by.
        try daemon.wait(for: "probes write") { _ in
            let before = times()
            for _ in 0..<300 {
                let statuses = try ["/readyz", "/livez"].map {
                    try client.request("GET", $0).status
                }
                #expect(statuses == [200, 200])
            }
            return times() == before
        }
    }
}
