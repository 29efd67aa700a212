import BlobProtocol
import TestSupport
import Testing

/// The binary protocol beyond the document's transcripts.
@Suite(.waiting) struct BinaryTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try DaemonProcess()
    }

    @Test("hello tells the daemon's settings")
    func hello() throws {
        let daemon = try DaemonProcess([
            "--max-payload", "1MiB", "--max-ttl", "2h", "--default-ttl", "1h",
        ])
        let answer = try daemon.connect().exchange(helloFrame)
        let hello = try Hello.Response.parse(answer.head.span.bytes)
        #expect(hello.payloadByteCountMax == 1 << 20)
        #expect(hello.ttlSecondsMax == 7_200 && hello.defaultTTLSeconds == 3_600)
        #expect(hello.requestsInFlightMax == 64)
    }

    @Test("What one dialect stores the other fetches")
    func dialects() throws {
        let client = try daemon.connectBinary()
        var random = SeededGenerator(seed: 14)
        let body = random.bytes(300_000)
        let draft = Put.Draft(
            id: "x", mediaType: "image/gif", owner: "o", richType: "anim", message: "Grüße",
            ttlSeconds: 100)
        let put = try client.exchange(try putFrame(draft, body: body))
        #expect(put.status == 201)
        let read = try daemon.request("GET", "/api/notifications/x")
        #expect(read.body == body && read["Content-Type"] == "image/gif")
        try daemon.put("y", body)
        let get = try client.exchange(try getFrame("y"))
        let head = try Get.Response.parse(get.head.span.bytes)
        #expect(get.body == body && head.byteCount == 300_000)
        #expect(get.head.prefix(32).elementsEqual(put.head.prefix(32)))
        #expect(try client.exchange(try putFrame(draft, body: [1])).status == 200)
    }

    @Test("A compressed payload goes out as it is stored to who accepts that")
    func coded() throws {
        let text = Array((1...5_000).map { "line \($0)\n" }.joined().utf8)
        try daemon.put("t", text, type: "text/plain")
        let client = try daemon.connectBinary()
        let coded = try client.exchange(try getFrame("t", acceptsGzip: true))
        #expect(try Get.Response.parse(coded.head.span.bytes).coding == .gzip)
        #expect(coded.body.count < text.count)
        let plain = try client.exchange(try getFrame("t"))
        #expect(try Get.Response.parse(plain.head.span.bytes).coding == .identity)
        #expect(plain.body == text)
    }

    @Test("A range past the end is 416; one that reaches past it gets what there is")
    func ranges() throws {
        try daemon.put("r", Array(0..<100))
        let client = try daemon.connectBinary()
        let past = try client.exchange(try getFrame("r", range: WireRange(first: 100, count: 1)))
        #expect(past.status == 416 && past.code == "bad_range")
        let huge = WireRange(first: .max - 1, count: .max - 1)
        #expect(try client.exchange(try getFrame("r", range: huge)).status == 416)
        let tail = try client.exchange(
            try getFrame("r", range: WireRange(first: 90, count: .max - 1)))
        #expect(tail.status == 206 && tail.body == Array(90..<100))
    }

    @Test("One sync serves many publishers")
    func groupCommit() throws {
        let clients = try (0..<32).map { _ in try daemon.connectBinary() }
        for round in 0..<10 {
            for (index, client) in clients.enumerated() {
                client.send(try putFrame(Put.Draft(id: "\(index)"), body: [UInt8(round)]))
            }
            for client in clients { #expect(try client.frameAnswer().status < 300) }
        }
        #expect(try daemon.statistic("publishes") == 320)
        #expect(try daemon.statistic("syncs") < 320)
    }
}
