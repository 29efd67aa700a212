import BlobJSON
import BlobProtocol
import Glibc
import TestSupport
import Testing

/// Whole notifications over HTTP: published, read, changed, deleted.
@Suite(.waiting) struct NotificationHTTPTests {
    let daemon: DaemonProcess
    let client: RawClient
    private static let json = ["Content-Type": "application/json"]

    init() throws {
        daemon = try DaemonProcess()
        client = try daemon.connect()
    }

    private func put(_ id: String, _ document: String) throws -> HTTPAnswer {
        try client.request(
            "PUT", "/v1/notifications/\(id)", Self.json, body: Array(document.utf8))
    }

    private func parsed(_ answer: HTTPAnswer) throws -> JSONValue {
        try JSONValue.parse(answer.body.span.bytes)
    }

    @Test("A multipart body may come in pieces of any size, and be longer than memory")
    func multipartInPieces() throws {
        var random = SeededGenerator(seed: 31)
        let files = (0..<8).map { index in
            (name: "f\(index)", type: String?("image/png"), bytes: random.bytes(60_000 * index))
        }
        let body = multipartBody(#"{"message":"m"}"#, files: files)
        client.send(
            "PUT /v1/notifications/m HTTP/1.1\r\nHost: b\r\nContent-Type: \(multipartType)\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        var rest = body[...]
        var size = 1
        while !rest.isEmpty {
            let piece = rest.prefix(size)
            rest = rest.dropFirst(size)
            client.send("\(String(piece.count, radix: 16))\r\n")
            client.send(Array(piece) + Array("\r\n".utf8))
            size = size * 2 + 1
        }
        client.send("0\r\n\r\n")
        let answer = try client.answer()
        #expect(answer.status == 201, "\(answer.text)")
        for file in files {
            let part = try client.request("GET", "/v1/notifications/m/parts/\(file.name)")
            #expect(part.body == file.bytes)
        }
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
    }

    @Test("A group is changed together, and an account ends")
    func longChanges() throws {
        for index in 0..<600 {
            let group = index % 2 == 0 ? "a" : "b"
            #expect(
                try put("n\(index)", #"{"owner":"u/1","message":"m","group":"\#(group)"}"#).status
                    == 201)
        }
        let path = "/v1/users/u%2F1"
        let patched = try client.request(
            "PATCH", "\(path)/notifications?group=a", Self.json,
            body: Array(#"{"read":true}"#.utf8))
        #expect(patched.status == 200 && patched.text == #"{"matched":300,"changed":300}"#)
        let unread = try client.request("GET", "\(path)/notifications?limit=1000&read=false")
        #expect(unread.text.ranges(of: #""group":"b""#).count == 300)
        #expect(!unread.text.contains(#""group":"a""#))
        let ended = try client.request("DELETE", path)
        #expect(ended.status == 200 && ended.text == #"{"deleted":600}"#)
        #expect(try client.request("DELETE", path).text == #"{"deleted":0}"#)
        #expect(try daemon.statistic("notifications") == 0)
    }

    @Test("Long changes wait for each other, and nobody else waits for all of them")
    func longChangesAtOnce() throws {
        let clients = try (0..<4).map { _ in try daemon.connect() }
        for index in 0..<600 {
            #expect(try put("n\(index)", #"{"owner":"u","message":"m","group":"g"}"#).status == 201)
        }
        for (index, client) in clients.enumerated() {
            client.sendRequest(
                "PATCH", "/v1/users/u/notifications?group=g", Self.json,
                body: Array(#"{"display_ttl":\#(index + 1)}"#.utf8))
        }
        #expect(try put("other", #"{"data":1}"#).status == 201)
        for client in clients {
            #expect(try client.answer().text == #"{"matched":600,"changed":600}"#)
        }
        // One came last, for all of them.
        let pages = try client.request("GET", "/v1/users/u/notifications?limit=1000")
        let counts = (1...4).map { pages.text.ranges(of: #""display_ttl":\#($0),"#).count }
        #expect(counts.max() == 600 && counts.reduce(0, +) == 600, "\(counts)")
    }

    @Test("The push for FCM has the token that the request gives, and nothing else has")
    func envelopeToken() throws {
        try daemon.publish("h", #"{"message":"m"}"#)
        let target = "/v1/notifications/h/envelope?platform="
        let longest = String(repeating: "t", count: 4_096)
        for token in ["fYv1:APA91b-_", longest] {
            for style in ["silent", "alert"] {
                let push = try client.request("GET", "\(target)fcm&style=\(style)&token=\(token)")
                #expect(push.status == 200)
                #expect(try parsed(push)["message"]?["token"]?.text == token)
                let whole = try client.request(
                    "GET", "\(target)fcm&style=\(style)&format=json&token=\(token)")
                #expect(try parsed(whole)["body"]?.text == push.text)
            }
        }
        let result = try blobd(
            ["envelope", "h", "--platform", "fcm", "--token", "abc"], socket: daemon.socketPath)
        #expect(result.text.hasPrefix(#"{"message":{"token":"abc","#), "\(result.errors)")
        let refused = try blobd(
            ["envelope", "h", "--platform", "apns", "--token", "abc"], socket: daemon.socketPath)
        #expect(refused.status == 2 && refused.errors.contains("--token is for --platform fcm"))
    }

    @Test("With format=json the envelope comes with the fields of the request that carries it")
    func envelopeHeaders() throws {
        try daemon.publish(
            "h", #"{"title":"T","message":"Say \"hi\"","display_ttl":30,"ttl":60,"priority":"low"}"#
        )
        let target = "/v1/notifications/h/envelope?platform="
        for (query, type, fields) in [
            ("apns", "application/json", ["apns-push-type", "apns-priority", "apns-expiration"]),
            ("apns&style=alert", "application/json", ["apns-push-type", "apns-collapse-id"]),
            ("fcm", "application/json", ["Content-Type"]),
            ("wns", "application/json", ["X-WNS-Type", "X-WNS-TTL", "X-WNS-PRIORITY"]),
            ("wns&style=alert", "text/xml", ["X-WNS-Type", "X-WNS-TTL", "Content-Type"]),
        ] {
            let plain = try daemon.request("GET", target + query)
            let same = try daemon.request("GET", target + query + "&format=body")
            #expect(same.status == 200 && same["Content-Type"] == plain["Content-Type"])
            let whole = try daemon.request("GET", target + query + "&format=json")
            #expect(whole.status == 200 && whole["Content-Type"] == "application/json")
            let document = try JSONValue.parse(whole.body.span.bytes)
            #expect(document["media_type"]?.text == type)
            if query != "fcm", !query.hasPrefix("apns") {
                #expect(document["body"]?.text == plain.text)
            }
            for field in fields { #expect(document["headers"]?[field]?.text != nil, "\(field)") }
        }
        let now = Int(time(nil))
        let apns = try daemon.request("GET", target + "apns&style=alert&format=json")
        let headers = try JSONValue.parse(apns.body.span.bytes)["headers"]
        #expect(headers?["apns-priority"]?.text == "5")
        let end = try #require(headers?["apns-expiration"]?.text.flatMap { Int($0) })
        #expect((now...now + 31).contains(end))
    }
}
