import BlobProtocol
import TestSupport
import Testing

/// A client that reads slowly costs itself alone.
@Suite(.waiting) struct SlowClientTests {
    let daemon: DaemonProcess
    let body: [UInt8]

    init() throws {
        daemon = try DaemonProcess(["--workers", "1"])
        var random = SeededGenerator(seed: 8)
        body = random.bytes(3_000_000)
        try daemon.put("big", body)
    }

    @Test("Others are served while answers are stuck")
    func others() throws {
        let stuck = try (0..<5).map { _ in try daemon.connectBinary() }
        for client in stuck { client.send(try getFrame("big")) }
        try daemon.waitUntil("leases") { $0 == 5 }
        for number in 0..<50 {
            #expect(try daemon.put("o\(number)", [UInt8(number)]).status == 201)
            let read = try daemon.request("GET", "/v1/notifications/o\(number)/payload")
            #expect(read.body == [UInt8(number)])
        }
        for client in stuck { #expect(try client.frameAnswer().body == body) }
        try daemon.waitUntil("leases") { $0 == 0 }
    }

    @Test("What is being sent is sent whole, although it was replaced and deleted meanwhile")
    func replaced() throws {
        let client = try daemon.connectBinary()
        client.send(try getFrame("big"))
        try daemon.waitUntil("leases") { $0 == 1 }
        var random = SeededGenerator(seed: 10)
        for _ in 0..<20 { #expect(try daemon.put("big", random.bytes(2_000_000)).status == 200) }
        #expect(try daemon.request("DELETE", "/v1/notifications/big").status == 204)
        #expect(try daemon.statistic("orphan_blobs") >= 1)
        #expect(try client.frameAnswer().body == body)
        try daemon.waitUntil("orphan_blobs") { $0 == 0 }
    }

    @Test("A compressed payload is inflated at the client's pace")
    func inflated() throws {
        let text = Array((0..<300_000).map { "entry \($0 % 991)\n" }.joined().utf8)
        try daemon.put("text", text, type: "text/plain")
        let client = try daemon.connect()
        client.sendRequest("GET", "/v1/notifications/text/payload")
        client.sendRequest(
            "GET", "/v1/notifications/text/payload", ["Range": "bytes=1000000-2499999"])
        client.sendRequest("GET", "/v1/notifications/none")
        try daemon.waitUntil("leases") { $0 >= 1 }
        #expect(try client.answer().body == text)
        let range = try client.answer()
        #expect(range.status == 206 && range.body == Array(text[1_000_000..<2_500_000]))
        #expect(try client.answer().status == 404)
    }
}
