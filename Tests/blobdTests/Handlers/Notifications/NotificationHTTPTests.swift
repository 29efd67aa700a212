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

    private func put(
        _ id: String, _ document: String, _ fields: [String: String] = [:]
    ) throws -> HTTPAnswer {
        try client.request(
            "PUT", "/v1/notifications/\(id)", fields.merging(Self.json) { $1 },
            body: Array(document.utf8))
    }

    private func patch(
        _ id: String, _ document: String, _ fields: [String: String] = [:]
    ) throws -> HTTPAnswer {
        try client.request(
            "PATCH", "/v1/notifications/\(id)",
            fields.merging(["Content-Type": "application/merge-patch+json"]) { $1 },
            body: Array(document.utf8))
    }

    private func parsed(_ answer: HTTPAnswer) throws -> JSONValue {
        try JSONValue.parse(answer.body.span.bytes)
    }

    @Test("POST of a document chooses an id; with a parameter or another type it is a payload")
    func post() throws {
        let document = Array(#"{"message":"m"}"#.utf8)
        let made = try client.request("POST", "/v1/notifications", Self.json, body: document)
        #expect(made.status == 201 && made["Location"] == "/v1/notifications/0")
        #expect(made.member("message") == "m")
        let raw = try client.request(
            "POST", "/v1/notifications?message=n", Self.json, body: document)
        #expect(raw.status == 201 && raw.member("media_type") == "application/json")
        #expect(try client.request("GET", "/v1/notifications/1/payload").body == document)
        let other = try client.request(
            "POST", "/v1/notifications", ["Content-Type": "image/gif"], body: document)
        #expect(other.member("media_type") == "image/gif")
    }

    // `curl -d` and `fetch` with a string: the document was stored as the picture.
    @Test(
        "Types that nobody chose are 415 at POST /v1/notifications, with those to use, and there only"
    )
    func untold() throws {
        let document = Array(#"{"message":"m"}"#.utf8)
        for type in [
            "application/x-www-form-urlencoded", "text/plain", "Text/Plain;charset=UTF-8",
        ] {
            let fields = ["Content-Type": type]
            let refused = try client.request("POST", "/v1/notifications", fields, body: document)
            #expect(refused.status == 415 && refused.code == "unsupported_media_type")
            #expect(refused["Accept"] == "application/json, multipart/form-data")
            #expect(refused.text.contains("application/json"))
            #expect(try daemon.statistic("blobs") == 0)
        }
        for type in ["application/x-www-form-urlencoded", "text/plain"] {
            let fields = ["Content-Type": type]
            let payload = try client.request(
                "PUT", "/v1/notifications/p/payload", fields, body: document)
            #expect(payload.status < 300 && payload.member("media_type") == type)
            let query = try client.request(
                "POST", "/v1/notifications?owner=ann", fields, body: document)
            #expect(query.status == 201 && query.member("media_type") == type)
        }
    }

    @Test("If-Match and If-None-Match are judged by the revision")
    func conditions() throws {
        #expect(try put("c", "{}", ["If-Match": "*"]).code == "precondition_failed")
        let first = try put("c", #"{"message":"m"}"#, ["If-None-Match": "*"])
        #expect(first.status == 201)
        let tag = try #require(first["ETag"])
        let again = try put("c", #"{"message":"m"}"#, ["If-None-Match": "*"])
        #expect(again.status == 412 && again.member("revision") == first.member("revision"))
        #expect(try patch("c", #"{"read":true}"#, ["If-Match": "\"1000\""]).status == 412)
        #expect(try patch("c", #"{"read":true}"#, ["If-Match": "W/\(tag)"]).status == 412)
        let changed = try patch("c", #"{"read":true}"#, ["If-Match": "\"9\", \(tag)"])
        #expect(changed.status == 200 && changed.member("read") == "true")
        #expect(changed["ETag"] != tag)
        let known = try client.request(
            "GET", "/v1/notifications/c", ["If-None-Match": changed["ETag"] ?? ""])
        #expect(known.status == 304 && known["ETag"] == changed["ETag"])
        #expect(
            try client.request("GET", "/v1/notifications/c", ["If-None-Match": tag]).status == 200)
        #expect(
            try client.request("DELETE", "/v1/notifications/c", ["If-Match": tag]).status == 412)
        let gone = try client.request(
            "DELETE", "/v1/notifications/c", ["If-Match": changed["ETag"] ?? ""])
        #expect(gone.status == 204)
        let missing = try patch("c", "{}", ["If-Match": tag])
        #expect(missing.status == 412 && missing.member("revision") == "null")
        let both = try put("c", "{}", ["If-Match": tag, "If-None-Match": "*"])
        #expect(both.code == "precondition_failed")
    }

    @Test("A document and its files come together, and the files become the parts")
    func multipart() throws {
        let image: [UInt8] = [0xFF, 0xD8, 13, 10, 45, 45, 97, 0]
        let files: [(String, String?, [UInt8])] = [
            ("payload", "image/jpeg", image), ("sound", nil, [1, 2]),
        ]
        let answer = try client.request(
            "PUT", "/v1/notifications/m", ["Content-Type": multipartType],
            body: multipartBody(#"{"message":"two","owner":"u"}"#, files: files))
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.member("message") == "two")
        let payload = try client.request("GET", "/v1/notifications/m/payload")
        #expect(payload.body == image && payload["Content-Type"] == "image/jpeg")
        let sound = try client.request("GET", "/v1/notifications/m/parts/sound")
        #expect(sound.body == [1, 2] && sound["Content-Type"] == "application/octet-stream")

        let document = """
            {"parts":[{"name":"sound","media_type":"audio/wav"},\
            {"name":"old","digest":"\(try #require(jsonMember(answer.text, "digest")))"}]}
            """
        let named = try client.request(
            "POST", "/v1/notifications", ["Content-Type": multipartType],
            body: multipartBody(document, files: [("sound", "audio/x", [1, 2])]))
        #expect(named.status == 201, "\(named.text)")
        let location = try #require(named["Location"])
        let part = try client.request("GET", "\(location)/parts/sound")
        #expect(part["Content-Type"] == "audio/wav" && part.body == [1, 2])
        #expect(try client.request("GET", "\(location)/parts/old").body == image)
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
        for (query, words) in [
            ("apns&token=t", "the parameter token is for fcm"),
            ("wns&token=t", "the parameter token is for fcm"),
            ("fcm&token=", "the token must not be empty"),
            ("fcm&token=\(longest)t", "the token is 4097 bytes long; the limit is 4096"),
            ("fcm&token=a%20b", "the token must be visible ASCII (invalid at byte 1)"),
            ("fcm&token=%C3%A9", "the token must be visible ASCII (invalid at byte 0)"),
        ] {
            let answer = try client.request("GET", target + query)
            #expect(answer.status == 400 && answer.code == "bad_query", "\(query)")
            #expect(answer.member("detail")?.hasPrefix(words) == true, "\(answer.text)")
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
        #expect(try daemon.request("GET", target + "apns&format=xml").code == "bad_query")
    }

    @Test("100 Continue comes when the head is good, and the refusal at once when it is not")
    func expectContinue() throws {
        let head = "Host: b\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
        client.send("PUT /v1/notifications/x HTTP/1.1\r\n\(head)Content-Length: 10\r\n\r\n")
        #expect(try client.answer().status == 100)
        client.send(#"{"data":1}"#)
        #expect(try client.answer().status == 201)
        client.send("PUT /v1/notifications/x HTTP/1.1\r\n\(head)Content-Length: 65537\r\n\r\n")
        let refused = try client.answer()
        #expect(refused.code == "payload_too_large" && refused.member("limit") == "65536")
        #expect(try client.isClosed())
    }
}
