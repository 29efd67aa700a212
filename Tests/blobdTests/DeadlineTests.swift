import BlobProtocol
import Testing

/// What a client is given time for. Deadlines are set short, and the test waits for what follows from them.
@Suite struct DeadlineTests {
    @Test("A head that is not finished in time is answered 408, and the connection ends")
    func head() throws {
        let daemon = try DaemonProcess(["--head-timeout", "300ms"])
        let client = try daemon.connect()
        client.send("GET /healthz HTTP/1.1\r\nHost:")
        let answer = try client.answer()
        #expect(answer.status == 408 && answer.code == "timeout")
        #expect(try client.isClosed())
        let binary = try daemon.connectBinary()
        binary.send(Array(try getFrame("a").prefix(10)))
        #expect(try binary.isClosed())
        #expect(try daemon.statistic("timeouts") == 2)
    }

    @Test("A connection without requests is closed")
    func idle() throws {
        let daemon = try DaemonProcess(["--idle-timeout", "300ms"])
        let client = try daemon.connect()
        #expect(try client.isClosed())
        let used = try daemon.connect()
        #expect(try used.request("GET", "/healthz").status == 200)
        #expect(try used.isClosed())
    }

    @Test("A body slower than the least rate is given up, and nothing of it is kept")
    func slowBody() throws {
        let daemon = try DaemonProcess(["--rate-window", "300ms", "--min-rate", "100KiB"])
        let client = try daemon.connect()
        client.send(
            "PUT /v1/notifications/s/payload HTTP/1.1\r\nHost: b\r\nContent-Length: 500000\r\n\r\nabc"
        )
        let answer = try client.answer()
        #expect(answer.status == 408)
        #expect(try client.isClosed())
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
        #expect(try daemon.statistic("blobs") == 0)
    }

    @Test("An answer that is not read is given up, and its lease ends")
    func unreadAnswer() throws {
        let daemon = try DaemonProcess(["--rate-window", "500ms"])
        var random = SeededBytes(seed: 2)
        let body = random.bytes(3_000_000)
        try daemon.put("big", body)
        let client = try daemon.connectBinary()
        client.send(try getFrame("big"))
        try daemon.waitUntil("leases") { $0 == 1 }
        try daemon.waitUntil("leases") { $0 == 0 }
        // What the kernel had taken is still there; the rest never comes.
        #expect(try client.receiveAll().count < body.count)
        #expect(try daemon.statistic("timeouts") == 1)
    }

    @Test("A steady reader above the least rate gets all of a long answer")
    func steadyReader() throws {
        let daemon = try DaemonProcess(["--rate-window", "200ms"])
        var random = SeededBytes(seed: 4)
        let body = random.bytes(2_000_000)
        try daemon.put("big", body)
        let client = try daemon.connectBinary()
        client.send(try getFrame("big"))
        var received: [UInt8] = []
        while received.count < body.count {
            let more = try client.read(10_000)
            guard !more.isEmpty else { break }
            received += more
        }
        #expect(received.count > body.count && Array(received.suffix(body.count)) == body)
    }
}
