import BlobProtocol
import Glibc
import TestSupport
import Testing

/// Connections, descriptors, memory: full is a state that passes.
@Suite(.waiting) struct LimitTests {
    @Test("Connections over the limit wait until others leave")
    func connections() throws {
        let daemon = try DaemonProcess(["--max-connections", "3"])
        var clients = try (0..<3).map { _ in try daemon.connect() }
        for client in clients { #expect(try client.request("GET", "/healthz").status == 200) }
        let waiting = try daemon.connect()
        waiting.sendRequest("GET", "/v1/stats")
        for client in clients + clients {
            #expect(try client.request("GET", "/v1/stats").member("connections") == "3")
        }
        clients.removeLast()
        // Had it been served beside the others, it would have counted four.
        #expect(try waiting.answer().member("connections") == "3")
    }

    @Test("Bodies wait for memory, and all of them arrive")
    func bodyMemory() throws {
        let daemon = try DaemonProcess(["--body-memory", "256KiB"])
        let count = 12
        var random = SeededGenerator(seed: 6)
        let bodies = (0..<count).map { _ in random.bytes(400_000) }
        let clients = try (0..<count).map { _ in try daemon.connect() }
        for (index, client) in clients.enumerated() {
            client.send(
                "PUT /v1/notifications/\(index)/payload HTTP/1.1\r\nHost: b\r\nContent-Type: image/png\r\nContent-Length: 400000\r\n\r\n"
            )
        }
        // Only so many are read; what the others send stays in the sockets.
        var sent = [Int](repeating: 0, count: count)
        let patience = Patience()
        while sent.contains(where: { $0 < 400_000 }) {
            for (index, client) in clients.enumerated() where sent[index] < 400_000 {
                let piece = Array(bodies[index][sent[index]..<min(sent[index] + 65_536, 400_000)])
                sent[index] += client.sendWithoutWaiting(piece)
            }
            #expect(try daemon.statistic("body_memory_bytes") <= 256 << 10)
            try patience.wait(orThrow: "bodies do not move")
        }
        for client in clients { #expect(try client.answer().status == 201) }
        for (index, body) in bodies.enumerated() {
            let path = "/v1/notifications/\(index)/payload"
            #expect(try daemon.request("GET", path).body == body)
        }
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
    }

    @Test("Those who wait for a file and leave are forgotten")
    func waitersLeave() throws {
        // 128 descriptors leave 8 for files.
        let daemon = try DaemonProcess(["--workers", "1"], shell: "ulimit -n 128;")
        let head = "Host: b\r\nContent-Length: 300000\r\n\r\n"
        func begin() throws -> RawClient {
            let client = try daemon.connect()
            client.send("PUT /v1/notifications/a/payload HTTP/1.1\r\n\(head)")
            client.send([UInt8](repeating: 3, count: 200_000))
            return client
        }
        var holders: [RawClient] = []
        for count in 1...8 {
            holders.append(try begin())
            try daemon.waitUntil("body_spools") { $0 == count }
        }
        for _ in 0..<20 { _ = try begin() }
        try daemon.waitUntil("connections") { $0 <= 9 }
        holders = []
        try daemon.waitUntil("body_spools") { $0 == 0 }
        #expect(try daemon.put("c", .init(repeating: 3, count: 300_000)).status == 201)
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
    }
}
