import BlobProtocol
import TestSupport
import Testing

/// Each request gets one answer, and what follows it is the next request.
@Suite(.waiting) struct OneAnswerTests {
    /// Requests that are answered without their body, which is 5 bytes long, and the statuses.
    private static let unread = [
        ("GET /v1/notifications/none/payload", 404), ("GET /v1/stats", 200),
        ("HEAD /v1/notifications/none", 404), ("GET /v1/notifications/none", 404),
        ("GET /livez", 400), ("GET /v1/users/u/changes", 400), ("DELETE /v1/notifications/1", 400),
        ("PUT /v1/notifications/1/payload?ttl=0", 400), ("POST /nowhere", 404),
        ("PATCH /v1/blobs/x", 405), ("GET /d/1?e=1&k=1&s=1", 403), ("GET /d/me/changes", 401),
    ]

    private static func head(_ line: String, _ fields: String = "Content-Length: 5") -> String {
        "\(line) HTTP/1.1\r\nHost: b\r\n\(fields)\r\n\r\n"
    }

    // The 408 was taken for the answer to the client's next request.
    @Test(
        "A request whose body does not come after its answer gets no second one", arguments: unread)
    func unsent(line: String, status: Int) throws {
        let daemon = try DaemonProcess(["--rate-window", "300ms", "--workers", "1"])
        for part in ["", "he"] {
            let client = try daemon.connect()
            client.send(Self.head(line) + part)
            #expect(try client.answer(isHead: line.hasPrefix("HEAD")).status == status)
            let rest = try client.receiveAll()
            #expect(rest.isEmpty, "\(line): \(String(decoding: rest, as: UTF8.self))")
        }
        #expect(try daemon.statistic("timeouts") == 2)
    }

    @Test(
        "The body is discarded when it comes, and the next request is answered", arguments: unread)
    func sent(line: String, status: Int) throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        for _ in 0..<2 {
            client.send(Self.head(line))
            #expect(try client.answer(isHead: line.hasPrefix("HEAD")).status == status)
            // It looks like a request.
            client.send("GET /" + Self.head("GET /livez", "Connection: keep-alive"))
            #expect(try client.answer().status == 200)
        }
        #expect(daemon.stop() == 0)
    }

    @Test(
        "A body that the daemon does not discard ends the connection, and the answer says so",
        arguments: [
            "Content-Length: 65537", "Content-Length: 99999999999", "Transfer-Encoding: chunked",
            "Content-Length: 5\r\nExpect: 100-continue",
        ])
    func tooLong(fields: String) throws {
        let daemon = try DaemonProcess(["--rate-window", "300ms", "--workers", "1"])
        for (line, _) in Self.unread {
            let client = try daemon.connect()
            client.send(Self.head(line, fields))
            let answer = try client.answer(isHead: line.hasPrefix("HEAD"))
            #expect(answer.status != 408 && answer["Connection"] == "close", "\(line)")
            #expect(try client.isClosed(), "\(line)")
        }
        #expect(try daemon.statistic("timeouts") == 0)
    }

    @Test("A body that is wanted and does not come gets a 408, and nothing else")
    func late() throws {
        let daemon = try DaemonProcess(["--rate-window", "300ms"])
        for fields in ["Content-Length: 5", "Content-Length: 5\r\nExpect: 100-continue"] {
            let client = try daemon.connect()
            client.send(Self.head("PUT /v1/notifications/1/payload", fields))
            if fields.contains("Expect") { #expect(try client.answer().status == 100) }
            #expect(try client.answer().status == 408)
            #expect(try client.isClosed())
        }
    }

    // It was taken for the beginning of a request, which did not go on: a 408.
    @Test("An empty line after a body is not the beginning of the next request")
    func emptyLine() throws {
        let daemon = try DaemonProcess(["--head-timeout", "300ms", "--workers", "1"])
        let client = try daemon.connect()
        client.send(Self.head("PUT /v1/notifications/1/payload") + "hello\r\n")
        #expect(try client.answer().status == 201)
        // The time of a head that begins now is over after that of one that began before.
        let other = try daemon.connect()
        other.send("GET")
        #expect(try other.answer().status == 408)
        #expect(try client.request("GET", "/v1/notifications/1/payload").text == "hello")
        // Nor is it one that the client has not finished.
        client.send("\r\n")
        client.endSending()
        #expect(try client.isClosed())
        // A request may still follow four empty lines, and its beginning has its time.
        let third = try daemon.connect()
        third.send("\r\n\r\n\r\n\r\nGET")
        #expect(try third.answer().status == 408)
    }

    // "keep-alive" was promised, and the end of the connection was the end of the backup.
    @Test("A backup over HTTP/1.0 ends with its connection, and says so")
    func oldBackup() throws {
        let daemon = try DaemonProcess()
        #expect(try daemon.put("1", Array("a payload".utf8)).status == 201)
        let client = try daemon.connect()
        client.send("HEAD /v1/backup HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let head = try client.answer(isHead: true)
        #expect(head.status == 200 && head["Connection"] == "keep-alive")
        client.send("GET /v1/backup HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let text = String(
            decoding: try client.receive(upTo: Array("\r\n\r\n".utf8)), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("\r\nConnection: close\r\n"))
        #expect(!text.contains("keep-alive") && !text.contains("Transfer-Encoding"))
        let file = try daemon.folder.write("backup", try client.receiveAll())
        let restored = try blobd(["restore", file, "--data", "\(daemon.folder)/restored"])
        #expect(restored.status == 0, "\(restored.errors)")
    }
}
