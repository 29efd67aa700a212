import TestSupport
import Testing

/// Input that was read with a request that waits.
@Suite(.waiting) struct WaitingInputTests {
    private static let livez = "GET /livez HTTP/1.1\r\nHost: b\r\n\r\n"

    private func wait(_ client: RawClient, followedBy text: String, of owner: String = "ann") {
        client.send(
            "GET /v1/users/\(owner)/changes?wait=60 HTTP/1.1\r\nHost: b\r\n\r\n" + text)
    }

    // 4,096 watchers could hold 256 MiB.
    @Test("Requests that follow a wait take memory of answers, and too many of them are not kept")
    func accounted() throws {
        let daemon = try DaemonProcess(["--workers", "1", "--answer-memory", "1MiB"])
        let few = try daemon.connect()
        wait(few, followedBy: Self.livez, of: "bob")
        try daemon.waitUntil("watchers") { $0 == 1 }
        let text = String(repeating: Self.livez, count: 60_000 / Self.livez.utf8.count)
        var clients = [try daemon.connect()]
        wait(clients[0], followedBy: text)
        // A socket may hand over less than all at once.
        try daemon.waitUntil("answer_memory_bytes") { $0 > 16_000 && $0 < 66_000 }
        let patience = Patience()
        while try daemon.statistic("unread_ends") == 0 {
            let client = try daemon.connect()
            _ = client.sendWithoutWaiting(
                Array(
                    "GET /v1/users/ann/changes?wait=60 HTTP/1.1\r\nHost: b\r\n\r\n\(text)".utf8))
            clients.append(client)
            #expect(try daemon.statistic("answer_memory_bytes") <= 3 << 20)
            try patience.wait(orThrow: "nothing is accounted")
        }
        clients = []
        try daemon.waitUntil("answer_memory_bytes") { $0 < 1_000 }
        // What holds little goes on, and so does what follows it.
        #expect(try daemon.put("1", [1], query: "?owner=bob").status == 201)
        #expect(try few.answer().text.contains("published"))
        #expect(try few.answer().text == "ok\n")
    }

    /// They were taken for clients that do not read, though the daemon was what they waited for.
    @Test("Publishers that send many requests ahead are all answered, whatever their memory")
    func publishersAhead() throws {
        let daemon = try DaemonProcess(["--answer-memory", "1MiB", "--workers", "1"])
        let requestCount = 30
        let clients = try (0..<60).map { number in
            let client = try daemon.connect()
            for index in 0..<requestCount {
                client.send(
                    httpRequest(
                        "PUT", "/v1/notifications/\(number)-\(index)/payload",
                        body: [UInt8](repeating: 1, count: 1_024)))
            }
            return client
        }
        for client in clients {
            for _ in 0..<requestCount { #expect(try client.answer().status == 201) }
        }
    }
}
