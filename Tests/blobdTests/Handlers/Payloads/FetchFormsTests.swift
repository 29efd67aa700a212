import BlobProtocol
import TestSupport
import Testing

/// A fetch gets the same answer however it is written, and whatever was asked before it.
@Suite(.waiting) struct FetchFormsTests {
    let daemon: DaemonProcess
    let bodies: [String: [UInt8]]

    init() throws {
        daemon = try DaemonProcess()
        var random = SeededGenerator(seed: 16)
        // Copied, linked, with a short chunk and without, and coded.
        bodies = [
            "1": random.bytes(1), "short": random.bytes(1_000), "copied": random.bytes(16_384),
            "linked": random.bytes(65_536), "long": random.bytes(300_001), "empty": [],
            "text": Array((1...9_000).map { "line \($0)\n" }.joined().utf8),
        ]
        for (id, body) in bodies {
            try daemon.put(id, body, type: id == "text" ? "text/plain" : "image/png")
        }
    }

    /// The status line and the fields but those that change with the time.
    private func head(_ answer: HTTPAnswer) -> [String: String] {
        var fields = answer.fields
        fields["date"] = nil
        fields["cache-control"] = nil
        fields[""] = answer.statusLine
        return fields
    }

    @Test("A request written otherwise gets the same answer")
    func same() throws {
        let client = try daemon.connect()
        for (id, body) in bodies {
            let path = "/v1/notifications/\(id)/payload"
            // The first byte of the id encoded.
            let byte = String(id.utf8.first!, radix: 16)
            let other = "/v1/notifications/%\(byte)\(id.dropFirst())/payload"
            let slow = try client.request("GET", other)
            for _ in 0..<3 {
                let answer = try client.request("GET", path)
                #expect(answer.body == body, "\(id)")
                #expect(head(answer) == head(slow), "\(id)")
                #expect(answer["Date"]?.hasSuffix(" GMT") == true)
                #expect(answer["Cache-Control"]?.hasPrefix("private, max-age=") == true)
            }
        }
    }

    @Test("What a section says holds for its own request alone")
    func sections() throws {
        let client = try daemon.connect()
        let path = "/v1/notifications/copied/payload"
        let body = try #require(bodies["copied"])
        let tag = try #require(try client.request("GET", path)["ETag"])
        let cases: [(fields: [String: String], status: Int, byteCount: Int)] = [
            (["Range": "bytes=0-9"], 206, 10), (["If-None-Match": tag], 304, 0),
            (["If-Match": "\"x\""], 412, -1), (["Accept-Encoding": "identity;q=0"], 406, -1),
            (["Accept-Encoding": "gzip"], 200, body.count), (["X": "y"], 200, body.count),
        ]
        for (fields, status, byteCount) in cases + cases.reversed() {
            #expect(try client.request("GET", path).body == body)
            for _ in 0..<2 {
                let answer = try client.request("GET", path, fields)
                #expect(answer.status == status, "\(fields)")
                if byteCount >= 0 { #expect(answer.body.count == byteCount, "\(fields)") }
            }
        }
        let coded = try client.request(
            "GET", "/v1/notifications/text/payload", ["Accept-Encoding": "gzip"])
        #expect(coded["Content-Encoding"] == "gzip")
        #expect(try client.request("GET", "/v1/notifications/text/payload").body == bodies["text"])
        // The last answer of a connection says so.
        #expect(try client.request("GET", path, ["Connection": "close"])["Connection"] == "close")
    }

    @Test("What is not there is missing, and counted once")
    func missing() throws {
        let client = try daemon.connect()
        #expect(try client.request("GET", "/v1/notifications/none/payload").status == 404)
        let before = try daemon.statistic("not_found")
        let requests = try daemon.statistic("requests")
        for _ in 0..<5 {
            #expect(try client.request("GET", "/v1/notifications/none/payload").status == 404)
            #expect(try client.request("GET", "/v1/notifications/1/payload").status == 200)
        }
        #expect(try daemon.statistic("requests") == requests + 11)
        #expect(try daemon.statistic("not_found") == before + 5)
    }

    @Test("A frame written otherwise gets the same answer")
    func frames() throws {
        let client = try daemon.connectBinary()
        for (id, body) in bodies {
            for acceptsGzip in [false, true] {
                // The part named.
                var head: [UInt8] = []
                try Get.Request.compose(id: id, part: "payload", into: &head)
                let flags = Get.flags(acceptsGzip: acceptsGzip)
                let slow = try client.exchange(frame(.get, flags: flags, id: 77, head: head))
                #expect(slow.status == 200)
                for _ in 0..<3 {
                    let answer = try client.exchange(
                        try getFrame(id, acceptsGzip: acceptsGzip, requestID: 77))
                    #expect(answer.frame == slow.frame, "\(id)")
                    #expect(answer.head == slow.head, "\(id)")
                    #expect(answer.body == slow.body, "\(id)")
                    if !acceptsGzip || id != "text" { #expect(answer.body == body, "\(id)") }
                }
            }
        }
    }

    @Test("A frame for what is not there is answered as such, and counted once")
    func missingFrames() throws {
        let client = try daemon.connectBinary()
        #expect(try client.exchange(try getFrame("none")).status == 404)
        let missing = try daemon.statistic("not_found")
        let requests = try daemon.statistic("requests")
        for _ in 0..<5 {
            #expect(try client.exchange(try getFrame("none")).code == "not_found")
            #expect(try client.exchange(try getFrame("1")).status == 200)
            // An id that nothing can have: byte 1 is none of a text.
            var bad = try getFrame("x")
            bad[48] = 1
            #expect(try client.exchange(bad).code == "bad_id")
        }
        #expect(try daemon.statistic("requests") == requests + 16)
        #expect(try daemon.statistic("not_found") == missing + 5)
        // Before hello it is no fetch.
        let stranger = try daemon.connect()
        #expect(try stranger.exchange(try getFrame("1")).code == "malformed")
    }
}
