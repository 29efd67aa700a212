import BlobJSON
import BlobProtocol
import TestSupport
import Testing

/// Batches: JSON lines in, JSON lines out.
@Suite(.waiting) struct BatchTests {
    private let daemon: DaemonProcess
    private let client: RawClient

    init() throws {
        daemon = try DaemonProcess()
        client = try daemon.connect()
    }

    /// The lines of a batch's answer.
    private func lines(_ answer: HTTPAnswer) throws -> [JSONValue] {
        try answer.text.split(separator: "\n").map {
            try JSONValue.parse(Array($0.utf8).span.bytes)
        }
    }

    private func batch(_ body: String, _ fields: [String: String] = [:]) throws -> HTTPAnswer {
        try client.request("POST", "/v1/notifications:batch", fields, body: Array(body.utf8))
    }

    private func number(_ value: JSONValue?) -> Int64? {
        guard case .number(let number)? = value else { return nil }
        return number.integer
    }

    @Test("Each line is a notification, and is answered in its place")
    func mixed() throws {
        let answer = try batch(
            """
            {"id":"a","owner":"u","message":"1"}\r
            {"message":"2"}

            {"id":"b","priority":"urgent"}
            {"id":"c",
            {"id":"d","category":"NONE"}
            {"id":"e","owner":"u"}
            {"id":"a","message":"3"}
            """, ["Blobd-Device": "campaign"])
        #expect(answer.status == 200 && answer["Content-Type"] == "application/x-ndjson")
        let lines = try lines(answer)
        #expect(lines.count == 7, "\(answer.text)")
        #expect(lines.map { number($0["status"]) } == [201, 201, 400, 400, 400, 422, 200])
        #expect(lines[0]["id"] == .string("a") && lines[1]["id"] == .string("0"))
        #expect(lines[2]["code"] == .string("bad_priority"))
        #expect(lines[3]["code"] == .string("bad_json"))
        #expect(lines[4]["code"] == .string("unknown_category"))
        #expect(lines[4]["id"] == .string("d"))
        #expect(lines[5]["code"] == .string("empty_notification"))
        let revision = try #require(number(lines[6]["revision"]))
        #expect(revision > (number(lines[0]["revision"]) ?? .max))
        let record = try client.request("GET", "/v1/notifications/a")
        #expect(record.member("message") == "3" && record.member("device") == "campaign")
        #expect(record.member("revision") == "\(revision)")
        #expect(try daemon.statistic("notifications") == 2)
    }

    /// Long batches are handed to the writer in pieces. Their answer was whole, and in order, however
    /// many pieces there were.
    @Test("Every line of a long batch is answered in its place", arguments: [249, 250, 251, 999])
    func pieces(count: Int) throws {
        let body = (0..<count).map { number in
            switch number % 7 {
            case 3: "{"
            case 5: #"{"id":"n\#(number - 5)","message":"again"}"#
            default: #"{"id":"n\#(number)","message":"\#(number)"}"#
            }
        }
        let lines = try lines(try batch(body.joined(separator: "\n")))
        #expect(lines.count == count)
        var last: Int64 = 0
        for (index, line) in lines.enumerated() {
            let status = index % 7 == 3 ? 400 : index % 7 == 5 ? 200 : 201
            #expect(number(line["status"]) == Int64(status), "line \(index)")
            guard status != 400 else { continue }
            #expect(line["id"] == .string("n\(index % 7 == 5 ? index - 5 : index)"))
            let revision = try #require(number(line["revision"]))
            #expect(revision > last)
            last = revision
        }
        let stored = (0..<count).count { $0 % 7 != 3 && $0 % 7 != 5 }
        #expect(try daemon.statistic("notifications") == stored)
    }

    @Test("A batch of the most lines is stored with few syncs")
    func large() throws {
        let bytes: [UInt8] = [1, 2, 3]
        let digest = PayloadDigestText.of(bytes)
        _ = try client.request("PUT", "/v1/blobs/sha256:\(digest)", body: bytes)
        let before = try daemon.statistic("syncs")
        let part = #""parts":[{"name":"payload","digest":"sha256:\#(digest)"}]"#
        let body = (0..<1_000).map { #"{"id":"n\#($0)","owner":"u\#($0)",\#(part)}"# }
        let answer = try batch(body.joined(separator: "\n"))
        let lines = try lines(answer)
        #expect(lines.count == 1_000)
        #expect(lines.allSatisfy { number($0["status"]) == 201 })
        #expect(try daemon.statistic("syncs") - before <= 4)
        #expect(try client.request("GET", "/v1/notifications/n999/payload").body == bytes)
        #expect(try daemon.statistic("blobs") == 1)
        let over = try batch(body.joined(separator: "\n") + "\n{}")
        #expect(over.code == "payload_too_large" && over.member("limit") == "1000")
        #expect(try daemon.statistic("notifications") == 1_000)
    }

    @Test("A batch that is too long is refused before it is sent")
    func tooLong() throws {
        client.send(
            "POST /v1/notifications:batch HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\nContent-Length: 8388609\r\n\r\n"
        )
        let answer = try client.answer()
        #expect(answer.code == "payload_too_large" && answer.member("limit") == "8388608")
    }
}
