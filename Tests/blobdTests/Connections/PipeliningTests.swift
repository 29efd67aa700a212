import BlobProtocol
import TestSupport
import Testing

/// Requests behind one another on a connection, in any pieces.
@Suite(.waiting) struct PipeliningTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try DaemonProcess()
    }

    @Test("A request that comes byte by byte is the same request")
    func byteByByte() throws {
        let requests: [[UInt8]] = [
            Array(
                "\r\nPUT /v1/notifications/b/payload?ttl=9 HTTP/1.1\r\nHost: b\r\nContent-Length: 4\r\n\r\nabcd"
                    .utf8),
            Array(
                "PUT /v1/notifications/b/payload HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"
                    .utf8),
            Array("GET /v1/notifications/b/payload HTTP/1.1\r\nHost: b\r\n\r\n".utf8),
        ]
        let client = try daemon.connect()
        for (request, status) in zip(requests, [201, 200, 200]) {
            for byte in request { client.send([byte]) }
            #expect(try client.answer().status == status)
        }
        let binary = try daemon.connect()
        for byte in helloFrame { binary.send([byte]) }
        #expect(try binary.frameAnswer().status == 200)
        for byte in try putFrame(Put.Draft(id: "x"), body: [1, 2, 3]) { binary.send([byte]) }
        #expect(try binary.frameAnswer().status == 201)
        for byte in try getFrame("b") { binary.send([byte]) }
        #expect(try binary.frameAnswer().body == Array("abcd".utf8))
    }

    @Test("HTTP/1.0 closes unless it asks not to; Connection: close closes")
    func connections() throws {
        let old = try daemon.connect()
        old.send("GET /healthz HTTP/1.0\r\n\r\n")
        #expect(try old.answer()["Connection"] == "close")
        #expect(try old.isClosed())
        let kept = try daemon.connect()
        for _ in 0..<2 {
            kept.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(try kept.answer()["Connection"] == "keep-alive")
        }
        let closing = try daemon.connect()
        let answer = try closing.request("GET", "/healthz", ["Connection": "close"])
        #expect(answer["Connection"] == "close")
        #expect(try closing.isClosed())
    }
}
