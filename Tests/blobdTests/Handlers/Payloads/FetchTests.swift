import TestSupport
import Testing

/// GET and HEAD of payloads over HTTP: RFC 9110, sections 8.8, 12.5.3, 13 and 14.
@Suite(.waiting) struct FetchTests {
    let photo: [UInt8]
    let text: [UInt8]
    let daemon: DaemonProcess

    init() throws {
        var random = SeededGenerator(seed: 1)
        photo = random.bytes(200_000)
        text = Array((1...9_000).map { "line \($0)\n" }.joined().utf8)
        daemon = try OneDaemon.daemon()
        try daemon.put("42", photo, query: "?ttl=3600")
        try daemon.put("text", text, type: "text/plain")
    }

    @Test("A payload comes back with its type, its digest and the fields that keep it harmless")
    func whole() throws {
        for path in ["/v1/notifications/42/payload", "/api/notifications/42"] {
            let answer = try daemon.request("GET", path)
            #expect(answer.status == 200)
            #expect(answer.body == photo)
            #expect(answer["Content-Type"] == "image/jpeg")
            #expect(answer["ETag"]?.hasPrefix("\"sha256:") == true)
            #expect(answer["Accept-Ranges"] == "bytes")
            #expect(answer["Content-Encoding"] == nil)
            #expect(answer["Vary"] == nil)
            #expect(answer["X-Content-Type-Options"] == "nosniff")
            #expect(answer["Content-Security-Policy"] == "sandbox; default-src 'none'")
            #expect(answer["Date"]?.hasSuffix(" GMT") == true)
            let control = try #require(answer["Cache-Control"])
            let age = try #require(Int(control.drop { $0 != "=" }.dropFirst()))
            #expect(control.hasPrefix("private, max-age=") && (3_000...3_600).contains(age))
        }
    }

    @Test("HEAD says the length of the coding that GET would send")
    func headOfCodings() throws {
        let daemon = try DaemonProcess()
        let text = [UInt8](repeating: 0x61, count: 20_000)
        try daemon.put("t", text, type: "text/plain")
        let client = try daemon.connect()
        let path = "/v1/notifications/t/payload"
        var lengths: [Int] = []
        for coding in ["gzip", "identity"] {
            let fields = ["Accept-Encoding": coding]
            let whole = try client.request("GET", path, fields)
            let head = try client.request("HEAD", path, fields)
            #expect(head["Content-Length"] == "\(whole.body.count)", "\(coding)")
            #expect(head["Content-Encoding"] == whole["Content-Encoding"])
            #expect(head["ETag"] == whole["ETag"])
            lengths.append(whole.body.count)
        }
        #expect(lengths[0] < 1_000 && lengths[1] == text.count)
    }

    @Test("HEAD answers as GET does, without the body")
    func head() throws {
        let client = try daemon.connect()
        for path in [
            "/v1/notifications/42/payload", "/v1/notifications/42", "/healthz",
            "/v1/notifications/none/payload",
        ] {
            let get = try client.request("GET", path)
            let head = try client.request("HEAD", path)
            #expect(head.status == get.status)
            #expect(head["Content-Length"] == "\(get.body.count)")
            #expect(head["Content-Type"] == get["Content-Type"])
            #expect(head["ETag"] == get["ETag"])
        }
        #expect(try client.request("HEAD", "/v1/stats").status == 200)
    }

    @Test("A payload is found by its digest")
    func byDigest() throws {
        let record = try daemon.request("GET", "/v1/notifications/42")
        let digest = try #require(record.member("digest"))
        let answer = try daemon.request("GET", "/v1/blobs/\(digest)")
        #expect(answer.status == 200 && answer.body == photo)
        #expect(answer["Content-Type"] == "application/octet-stream")
        let other = "/v1/blobs/sha256:" + String(repeating: "0", count: 64)
        #expect(try daemon.request("GET", other).status == 404)
        let broken = try daemon.request("GET", "/v1/blobs/sha256:00")
        #expect(broken.status == 400 && broken.code == "bad_digest")
    }

    @Test(
        "One range of bytes is answered with 206",
        .oneDaemon,
        arguments: [
            ("bytes=0-0", 206, 0, 1), ("bytes=100-199", 206, 100, 200),
            ("bytes=65515-65517", 206, 65_515, 65_518), ("bytes=199999-", 206, 199_999, 200_000),
            ("bytes=-10", 206, 199_990, 200_000), ("bytes=-999999", 206, 0, 200_000),
            ("bytes=150000-9999999", 206, 150_000, 200_000), ("BYTES=5-6", 206, 5, 7),
            ("bytes=5-4", 200, 0, 200_000), ("bytes=1-2,4-5", 200, 0, 200_000),
            ("lines=1-2", 200, 0, 200_000), ("bytes=a-b", 200, 0, 200_000),
            ("bytes=200000-", 416, 0, 0), ("bytes=-0", 416, 0, 0),
            ("bytes=18446744073709551615-", 416, 0, 0),
        ])
    func ranges(_ range: String, _ status: Int, _ lower: Int, _ upper: Int) throws {
        let answer = try daemon.request(
            "GET", "/v1/notifications/42/payload", ["Range": range])
        #expect(answer.status == status)
        if status == 416 {
            #expect(answer["Content-Range"] == "bytes */200000")
            #expect(answer.code == "bad_range")
        } else {
            #expect(answer.body == Array(photo[lower..<upper]))
            let expected = status == 206 ? "bytes \(lower)-\(upper - 1)/200000" : nil
            #expect(answer["Content-Range"] == expected)
        }
    }

    @Test("A range of a compressed payload is of the bytes as given")
    func rangeOfCompressed() throws {
        for (range, lower, upper) in [("bytes=0-9", 0, 10), ("bytes=70000-80000", 70_000, 80_001)] {
            let answer = try daemon.request(
                "GET", "/v1/notifications/text/payload",
                ["Range": range, "Accept-Encoding": "gzip"])
            #expect(answer.status == 206)
            #expect(answer.body == Array(text[lower..<upper]))
            #expect(answer["Content-Encoding"] == nil)
            #expect(answer["Content-Range"] == "bytes \(lower)-\(upper - 1)/\(text.count)")
        }
    }

    @Test("A range is answered if If-Range names the payload, and only then")
    func ifRange() throws {
        let path = "/v1/notifications/42/payload"
        let tag = try #require(try daemon.request("HEAD", path)["ETag"])
        let cases = [
            (tag, 206), ("W/\(tag)", 200), ("\"other\"", 200),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 200),
        ]
        for (value, status) in cases {
            let answer = try daemon.request(
                "GET", path, ["Range": "bytes=0-3", "If-Range": value])
            #expect(answer.status == status, "\(value)")
            #expect(answer.body.count == (status == 206 ? 4 : photo.count))
        }
    }

    @Test("If-None-Match takes lists, * and weak comparison; If-Match strong comparison")
    func conditions() throws {
        let path = "/v1/notifications/42/payload"
        let tag = try #require(try daemon.request("HEAD", path)["ETag"])
        for (field, value, status) in [
            ("If-None-Match", tag, 304), ("If-None-Match", "W/\(tag)", 304),
            ("If-None-Match", "\"x\", \(tag)", 304), ("If-None-Match", "*", 304),
            ("If-None-Match", "\"x\"", 200), ("If-None-Match", tag.replacing("\"", with: ""), 200),
            ("If-Match", tag, 200), ("If-Match", "*", 200), ("If-Match", "\"x\"", 412),
            ("If-Match", "W/\(tag)", 412),
        ] {
            let answer = try daemon.request("GET", path, [field: value])
            #expect(answer.status == status, "\(field): \(value)")
            if status == 304 {
                #expect(answer.body.isEmpty && answer["ETag"] == tag)
                #expect(answer["Cache-Control"]?.hasPrefix("private") == true)
            }
        }
        // A condition that fails comes before the range.
        let answer = try daemon.request(
            "GET", path, ["If-None-Match": tag, "Range": "bytes=0-1"])
        #expect(answer.status == 304)
    }

    @Test(
        "Accept-Encoding chooses the coding by its weights",
        .oneDaemon,
        arguments: [
            ("gzip", true), ("gzip, br", true), ("br;q=1, gzip;q=0.5", true), ("*", true),
            ("GZIP", true), ("x-gzip", true), ("gzip;q=0", false), ("identity", false), ("", false),
            ("gzip;q=0.5, identity;q=1", false), ("br", false), ("*;q=0, gzip;q=0.1", true),
        ])
    func codings(_ value: String, _ isGzip: Bool) throws {
        let answer = try daemon.request(
            "GET", "/v1/notifications/text/payload", ["Accept-Encoding": value])
        #expect(answer.status == 200)
        #expect(answer["Content-Encoding"] == (isGzip ? "gzip" : nil))
        #expect(answer["Vary"] == "Accept-Encoding")
        #expect(answer["ETag"]?.hasSuffix("-gzip\"") == isGzip)
        if isGzip {
            #expect(Array(answer.body.prefix(2)) == [0x1F, 0x8B])
            #expect(answer.body.count < text.count)
        } else {
            #expect(answer.body == text)
        }
    }

    @Test("What cannot be sent as it is accepted is 406")
    func notAcceptable() throws {
        let answer = try daemon.request(
            "GET", "/v1/notifications/42/payload", ["Accept-Encoding": "identity;q=0"])
        #expect(answer.status == 406 && answer.code == "not_acceptable")
        let coded = try daemon.request(
            "GET", "/v1/notifications/text/payload",
            ["Accept-Encoding": "gzip, identity;q=0", "Range": "bytes=0-1"])
        #expect(coded.status == 200 && coded["Content-Encoding"] == "gzip")
    }

    @Test("The gzip form has a tag of its own, and either tag is known again")
    func gzipTags() throws {
        let path = "/v1/notifications/text/payload"
        let plain = try #require(try daemon.request("HEAD", path)["ETag"])
        let coded = try #require(
            try daemon.request("HEAD", path, ["Accept-Encoding": "gzip"])["ETag"])
        #expect(plain != coded)
        for tag in [plain, coded] {
            let answer = try daemon.request(
                "GET", path, ["If-None-Match": tag, "Accept-Encoding": "gzip"])
            #expect(answer.status == 304 && answer["ETag"] == coded)
        }
    }

    // The tag of the gzip form got 304 with the tag of another, though the client takes no gzip.
    @Test("The tag of a form that the client does not take is not known again")
    func otherTag() throws {
        let path = "/v1/notifications/text/payload"
        let plain = try #require(try daemon.request("HEAD", path)["ETag"])
        let coded = "\(plain.dropLast())-gzip\""
        for fields in [
            [:], ["Accept-Encoding": "identity"], ["Accept-Encoding": "gzip;q=0"],
            ["Accept-Encoding": "gzip;q=0.5, identity"],
        ] {
            var fields = fields
            fields["If-None-Match"] = coded
            let answer = try daemon.request("GET", path, fields)
            #expect(answer.status == 200 && answer["ETag"] == plain && answer.body == text)
            fields["If-None-Match"] = nil
            fields["If-Match"] = coded
            #expect(try daemon.request("GET", path, fields).status == 412)
        }
        // A range is of the bytes as given, whose tag is the plain one.
        var fields = ["Accept-Encoding": "gzip", "Range": "bytes=0-3", "If-Match": coded]
        #expect(try daemon.request("GET", path, fields).status == 412)
        fields["If-Match"] = plain
        #expect(try daemon.request("GET", path, fields).body == Array(text.prefix(4)))
        // What is not stored coded has no such form.
        let photo = try #require(
            try daemon.request("HEAD", "/v1/notifications/42/payload")["ETag"])
        let none = try daemon.request(
            "GET", "/v1/notifications/42/payload",
            ["Accept-Encoding": "gzip", "If-None-Match": "\(photo.dropLast())-gzip\""])
        #expect(none.status == 200)
    }

    @Test("Unknown paths are 404, unknown methods 405 with what is allowed")
    func unknown() throws {
        let client = try daemon.connect()
        for path in ["/", "/v1", "/v1/notifications/42/", "/v1//42", "/v2/stats", "/healthz/x"] {
            #expect(try client.request("GET", path).status == 404, "\(path)")
        }
        for (method, path, allow) in [
            ("DELETE", "/v1/notifications/42/payload", "GET, HEAD, PUT"),
            ("POST", "/v1/notifications/42", "GET, HEAD, PUT, PATCH, DELETE"),
            ("GET", "/v1/notifications", "POST"), ("POST", "/healthz", "GET, HEAD"),
            ("OPTIONS", "/v1/stats", "GET, HEAD"), ("PATCH", "/api/notifications/42", "GET, HEAD"),
        ] {
            let answer = try client.request(method, path)
            #expect(answer.status == 405 && answer["Allow"] == allow, "\(method) \(path)")
        }
        #expect(try client.request("BREW", "/v1/nothing").status == 405)
    }

    @Test("An empty payload is a payload")
    func empty() throws {
        #expect(try daemon.put("none", []).status == 201)
        let answer = try daemon.request("GET", "/v1/notifications/none/payload")
        #expect(answer.status == 200 && answer.body.isEmpty)
        #expect(answer["Content-Length"] == "0")
        let suffix = try daemon.request(
            "GET", "/v1/notifications/none/payload", ["Range": "bytes=-5"])
        #expect(suffix.status == 200)
        let range = try daemon.request(
            "GET", "/v1/notifications/none/payload", ["Range": "bytes=0-"])
        #expect(range.status == 416)
    }
}
