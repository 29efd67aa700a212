import BlobProtocol
import TestSupport
import Testing

/// Long payloads leave by `sendfile`: the receiver gets pages of `data.mdb`, which must not
/// change before it has read them, whatever becomes of the payload meanwhile: the table `sending.txt` has that over HTTP.
@Suite(.waiting) struct ZeroCopySendTests {
    private let daemon: DaemonProcess
    private var random = SeededGenerator(seed: 31)

    init() throws {
        daemon = try DaemonProcess(["--workers", "1", "--sweep-interval", "50ms"])
    }

    @Test("A frame that waits in the socket is not changed by what replaces its payload")
    mutating func queued() throws {
        let body = random.bytes(150_000)
        try daemon.put("q", body)
        let client = try daemon.connectBinary()
        client.send(try getFrame("q") + getFrame("q"))
        try daemon.waitUntil("leases") { $0 == 1 }
        #expect(try daemon.request("DELETE", "/v1/notifications/q").status == 204)
        for round in 0..<12 {
            for number in 0..<4 { try daemon.put("\(number)", random.bytes(200_000 + round)) }
        }
        #expect(try daemon.statistic("leases") == 1)
        for _ in 0..<2 { #expect(try client.frameAnswer().body == body) }
        try daemon.waitUntil("leases") { $0 == 0 }
    }

    @Test("Every size and range comes right, linked or copied, alone or behind others")
    mutating func sizes() throws {
        let daemon = try DaemonProcess(["--workers", "1", "--sendfile-min", "1"])
        let chunk = 65_472
        var bodies: [[UInt8]] = []
        for size in [
            1, 4_095, 4_096, 16_383, 16_384, chunk - 1, chunk, chunk + 1, chunk + 4_095,
            chunk + 4_096, 2 * chunk, 2 * chunk + 40, 300_000, 1 << 20,
        ] {
            bodies.append(random.bytes(size))
            try daemon.put("s\(bodies.count - 1)", bodies[bodies.count - 1])
        }
        let client = try daemon.connectBinary()
        let http = try daemon.connect()
        for (index, body) in bodies.enumerated() {
            client.send(try getFrame("s\(index)"))
            let first = body.count / 3
            http.sendRequest(
                "GET", "/v1/notifications/s\(index)/payload",
                ["Range": "bytes=\(first)-\(body.count - 1)"])
            #expect(try http.answer().body == Array(body[first...]))
        }
        for body in bodies { #expect(try client.frameAnswer().body == body) }
    }

    @Test("The pages of a linked body stand at a multiple of 64 from the start of their answer")
    mutating func aligned() throws {
        let chunk = 65_472
        let http = try daemon.connect()
        for (size, copied) in [(32_768, 0), (chunk, 0), (chunk + 77, 77), (chunk + 5_000, 0)] {
            let body = random.bytes(size)
            for type in ["image/jpeg", "text/plain;x=1", "audio/ogg"] {
                try daemon.put("a", body, type: type)
                http.sendRequest(
                    "GET", "/v1/notifications/a/payload", ["Accept-Encoding": "identity"])
                let head = try http.receive(upTo: Array("\r\n\r\n".utf8))
                #expect(try http.receive(size) == body)
                #expect((head.count + copied) % 64 == 0, "\(size) bytes of \(type)")
            }
        }
        // What is copied has no blanks.
        try daemon.put("b", random.bytes(1_000))
        http.sendRequest("GET", "/v1/notifications/b/payload")
        let head = String(decoding: try http.receive(upTo: Array("\r\n\r\n".utf8)), as: UTF8.self)
        #expect(!head.contains(" \r\n"))
    }
}
