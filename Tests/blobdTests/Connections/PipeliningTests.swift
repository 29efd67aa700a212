import BlobProtocol
import TestSupport
import Testing

/// Requests behind one another on a connection, in any pieces.
@Suite(.waiting) struct PipeliningTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try DaemonProcess()
    }

    @Test("Answers come in the order of the requests, whatever each of them takes")
    func order() throws {
        let client = try daemon.connect()
        var random = SeededGenerator(seed: 3)
        let bodies = (0..<20).map { random.bytes(1_000 * ($0 + 1) * ($0 % 3 + 1)) }
        for (number, body) in bodies.enumerated() {
            let path = "/v1/notifications/\(number)"
            client.sendRequest("PUT", "\(path)/payload", body: body)
            client.sendRequest("GET", "\(path)/payload")
            client.sendRequest("GET", "/v1/notifications/none")
            client.sendRequest("DELETE", path)
            client.sendRequest("GET", "\(path)/payload")
            #expect(try client.answer().status == 201)
            #expect(try client.answer().body == body)
            #expect(try client.answer().status == 404)
            #expect(try client.answer().status == 204)
            #expect(try client.answer().status == 404)
        }
    }

    @Test("Hundreds of unanswered frames are answered, ids and all")
    func frames() throws {
        try daemon.put("1", [UInt8](repeating: 5, count: 70_000))
        let client = try daemon.connect()
        var bytes = helloFrame
        for number in 0..<300 {
            bytes += try getFrame(number % 7 == 0 ? "2" : "1", requestID: UInt32(number))
        }
        // The requests are short enough for the sockets' buffers, the answers are not.
        client.send(bytes)
        #expect(try client.frameAnswer().status == 200)
        for number in 0..<300 {
            let answer = try client.frameAnswer()
            #expect(answer.frame.requestID == UInt32(number))
            #expect(answer.status == (number % 7 == 0 ? 404 : 200))
            #expect(answer.body.count == 70_000 || answer.status == 404)
        }
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

    @Test("A client that sends no more still gets its answers")
    func halfClosed() throws {
        let client = try daemon.connect()
        client.sendRequest("PUT", "/v1/notifications/h/payload", body: [1, 2])
        client.sendRequest("GET", "/v1/notifications/h/payload")
        client.endSending()
        #expect(try client.answer().status == 201)
        #expect(try client.answer().body == [1, 2])
        #expect(try client.isClosed())
    }
}
