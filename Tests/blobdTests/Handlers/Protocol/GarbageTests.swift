import BlobProtocol
import TestSupport
import Testing

/// Garbage in both dialects: the daemon answers as its documents say or hangs up, and the same process is
/// there at the end.
@Suite struct GarbageTests {
    @Test("Thousands of random, mutated and truncated messages change nothing")
    func rubbish() throws {
        let seed: UInt64 = 20_261_121
        let daemon = try DaemonProcess(["--head-timeout", "5s"])
        try daemon.put("keep", [1, 2, 3])
        var random = SeededGenerator(seed: seed)
        let samples = try Self.samples()
        let before = processStatus(daemon.pid, "RssAnon")
        var statuses: [Int: Int] = [:]
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
                let name: Comment = "seed \(seed), round \(round): \(message)"
                let sent = try client.receiveAll()
                // Whole answers and nothing else; refusals say why, and the daemon is never to blame.
                guard let stream = try? AnswerStream(sent) else {
                    Issue.record("\(String(decoding: sent, as: UTF8.self)), \(name)")
                    continue
                }
                for answer in stream.answers {
                    statuses[answer.status, default: 0] += 1
                    #expect(answer.status < 500 || [501, 505].contains(answer.status), name)
                }
                // Random bytes that begin no dialect are told so.
                if round % 3 == 0, let first = message.first, Dialect(firstByte: first) == .unknown
                {
                    #expect(stream.answers == [.init(status: 400, code: "malformed")], name)
                }
            }
        }
        // Some of it is right, most of what is damaged is refused.
        #expect(statuses[200, default: 0] > 50 && statuses[400, default: 0] > 500, "\(statuses)")
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
                let stream = try AnswerStream(try client.receiveAll())
                // Half a request is refused or not answered; a hello before it is.
                let isBinary = sample.first == Wire.requestMagic
                let isGreeted = isBinary && count >= helloFrame.count
                let answers = stream.answers.dropFirst(isGreeted ? 1 : 0)
                #expect(!isGreeted || stream.answers.first?.status == 200)
                #expect(answers.count <= 1, "\(count) bytes of \(sample)")
                #expect(answers.allSatisfy { (400..<500).contains($0.status) || $0.status == 100 })
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
