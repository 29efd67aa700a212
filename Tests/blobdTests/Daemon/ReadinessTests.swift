import BlobProtocol
import Glibc
import TestSupport
import Testing

/// Whether the daemon can store a publish. `/healthz` was 200 while publishes got 507, in a store of
/// `--map-size 16MiB` that was full.
@Suite(.waiting) struct ReadinessTests {
    /// Publishes until one is refused. Returns how many were stored.
    private static func fill(_ daemon: DaemonProcess, _ byteCount: Int) throws -> Int {
        var random = SeededGenerator(seed: UInt64(byteCount))
        for number in 0..<10_000 {
            let answer = try daemon.put("\(number)", random.bytes(byteCount))
            guard answer.status != 201 else { continue }
            #expect(answer.status == 507 && answer.code == "full")
            return number
        }
        throw TestFailure("it was never full")
    }

    private static func expectNotReady(_ daemon: DaemonProcess) throws {
        for path in ["/readyz", "/healthz"] {
            let answer = try daemon.request("GET", path)
            #expect(answer.status == 503, "\(path)")
            #expect(answer.code == "unavailable", "\(answer.text)")
            #expect(answer.member("reason") == "full", "\(answer.text)")
            #expect(answer.text.contains("no space left"), "\(answer.text)")
        }
        #expect(try daemon.request("GET", "/livez").status == 200)
        #expect(try daemon.request("HEAD", "/livez").status == 200)
        #expect(try daemon.connectBinary().exchange(frame(.ping)).status == 507)
        let command = try blobd(["ping"], socket: daemon.socketPath)
        #expect(command.status == 1 && command.errors.contains("no space"), "\(command.errors)")
    }

    private static func waitUntilReady(_ daemon: DaemonProcess) throws {
        let patience = Patience()
        while try daemon.request("GET", "/readyz").status != 200 {
            try patience.wait(orThrow: "it does not get ready again")
        }
    }

    @Test(
        "A full store is not ready from the first refusal on, and ready again when there is room",
        arguments: [9_000, 1_000_000])
    func mapFull(byteCount: Int) throws {
        let daemon = try DaemonProcess(["--map-size", "16MiB"])
        #expect(try daemon.request("GET", "/readyz").body == Array("ok\n".utf8))
        let command = try blobd(["ping"], socket: daemon.socketPath)
        #expect(command.status == 0 && command.text == "ok\n")
        let count = try Self.fill(daemon, byteCount)
        try Self.expectNotReady(daemon)
        // Not stale either: a probe after another, with a refusal between them.
        #expect(try daemon.put("more", [UInt8](repeating: 1, count: byteCount)).status == 507)
        try Self.expectNotReady(daemon)

        for number in 0..<count * 2 / 3 {
            #expect(try daemon.request("DELETE", "/v1/notifications/\(number)").status == 204)
        }
        try Self.waitUntilReady(daemon)
        // It is no fake: the same publish goes well.
        var random = SeededGenerator(seed: 99)
        #expect(try daemon.put("again", random.bytes(byteCount)).status == 201)
        #expect(try daemon.request("GET", "/healthz").status == 200)
        #expect(daemon.stop() == 0)
    }

    @Test("A payload that would not fit an empty store says nothing of this one")
    func tooLarge() throws {
        let daemon = try DaemonProcess(["--map-size", "16MiB"])
        var random = SeededGenerator(seed: 3)
        #expect(try daemon.put("large", random.bytes(20_000_000)).status == 507)
        #expect(try daemon.request("GET", "/readyz").status == 200)
        #expect(try daemon.put("small", [1]).status == 201)
    }

    @Test(
        "A full disk is not ready, and ready again when there is room",
        .enabled(if: SmallDisk.isPossible, "mounts a small disk"))
    func diskFull() throws {
        let disk = try SmallDisk(byteCount: 40 << 20)
        let daemon = try DaemonProcess(["--max-payload", "2MiB"], in: disk.folder)
        let count = try Self.fill(daemon, 1_000_000)
        try Self.expectNotReady(daemon)
        for number in 0..<count * 2 / 3 {
            #expect(try daemon.request("DELETE", "/v1/notifications/\(number)").status == 204)
        }
        try Self.waitUntilReady(daemon)
        var random = SeededGenerator(seed: 99)
        #expect(try daemon.put("again", random.bytes(1_000_000)).status == 201)
        #expect(daemon.stop() == 0)
    }

    @Test("Probes write and sync nothing, however many there are")
    func probesCostNothing() throws {
        let daemon = try DaemonProcess()
        #expect(try daemon.put("1", [1]).status == 201)
        // Committed, and with nothing left to do.
        try daemon.waitUntil("revision") { $0 == 1 }
        #expect(try daemon.request("GET", "/v1/notifications/1").status == 200)
        func times() -> [Int] {
            ["data.mdb", "changes.log"].flatMap { name in
                var status = stat()
                stat("\(daemon.dataPath)/\(name)", &status)
                return [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
            }
        }
        let before = times()
        let client = try daemon.connect()
        for _ in 0..<300 {
            #expect(try client.request("GET", "/readyz").status == 200)
            #expect(try client.request("GET", "/livez").status == 200)
        }
        #expect(times() == before)
    }
}
