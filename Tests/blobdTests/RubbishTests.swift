import BlobProtocol
import Testing

/// Garbage in both dialects: the daemon answers or hangs up, and the same process is there at the
/// end.
@Suite struct RubbishTests {
    @Test("Thousands of random, mutated and truncated messages change nothing")
    func rubbish() throws {
        let seed: UInt64 = 20_261_121
        let daemon = try DaemonProcess(["--head-timeout", "5s"])
        try daemon.put("keep", [1, 2, 3])
        var random = SeededBytes(seed: seed)
        let samples = try Self.samples()
        let before = processStatus(daemon.pid, "RssAnon")
        for round in 0..<3_000 {
            let client = try daemon.connect()
            var message: [UInt8]
            switch round % 3 {
            case 0:
                message = random.bytes(Int(random.next() % 600))
            case 1:
                message = samples[Int(random.next() % UInt64(samples.count))]
                for _ in 0...(random.next() % 4) {
                    let index = Int(random.next() % UInt64(message.count))
                    message[index] = UInt8(truncatingIfNeeded: random.next())
                }
            default:
                let sample = samples[Int(random.next() % UInt64(samples.count))]
                message = Array(sample.prefix(Int(random.next() % UInt64(sample.count))))
            }
            client.send(message)
            // Every other client waits for what the daemon has to say.
            if round % 2 == 0 {
                client.endSending()
                _ = try client.receiveAll()
            }
        }
        let client = try daemon.connect()
        let read = try client.request("GET", "/v1/notifications/keep/payload")
        #expect(read.body == [1, 2, 3], "seed \(seed)")
        try daemon.waitUntil("connections") { $0 <= 2 }
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
        let after = processStatus(daemon.pid, "RssAnon")
        #expect(hasSanitizer || after - before < 16_000, "from \(before) kB to \(after) kB")
        #expect(daemon.stop() == 0)
    }

    @Test("Whole requests cut at every offset")
    func truncated() throws {
        let daemon = try DaemonProcess()
        for sample in try Self.samples() {
            for count in 0..<sample.count {
                let client = try daemon.connect()
                client.send(Array(sample.prefix(count)))
                client.endSending()
                _ = try client.receiveAll()
            }
        }
        #expect(try daemon.request("GET", "/healthz").status == 200)
        #expect(try daemon.statistic("notifications") == 0)
    }

    private static func samples() throws -> [[UInt8]] {
        let http = [
            "GET /v1/notifications/keep/payload HTTP/1.1\r\nHost: b\r\nRange: bytes=0-1\r\nIf-None-Match: \"x\", W/\"y\"\r\nAccept-Encoding: gzip;q=0.5, *;q=0\r\n\r\n",
            "PUT /v1/notifications/a%20b/payload?ttl=5&message=x HTTP/1.1\r\nHost: b\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
            "POST /v1/notifications HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: x\r\n\r\n",
        ]
        let draft = Put.Draft(
            id: "z", mediaType: "image/png", owner: "o", message: "m", ttlSeconds: 9)
        return http.map { Array($0.utf8) } + [
            helloFrame + (try putFrame(draft, body: [1, 2, 3])),
            helloFrame
                + (try getFrame("keep", acceptsGzip: true, range: WireRange(first: 1, count: 2))),
        ]
    }
}
