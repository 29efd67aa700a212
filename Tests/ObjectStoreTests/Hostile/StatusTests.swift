import TestSupport
import Testing

@testable import ObjectStore

/// What the client makes of answers that are whole.
@Suite struct StatusTests {
    @Test("A plain run of all operations, and what is sent")
    func plain() throws {
        let scene = try Scene { request in
            switch request.number {
            case 0: [.answer(200, ["ETag: \"x\""])]
            case 1: [.answer(412)]
            case 2: [.answer(200, body: "hello")]
            case 3: [.error(404, "NoSuchKey")]
            case 4: [.answer(200, ["Content-Type: application/xml"], body: emptyListing)]
            default: [.text("HTTP/1.1 204 No Content\n\n")]
            }
        }
        #expect(try scene.create() == .created)
        #expect(try scene.create() == .exists)
        #expect(try scene.get() == "hello")
        #expect(try scene.get() == nil)
        #expect(try scene.client.list("log/", startAfter: "log/1", keyCountMax: 7).objects == [])
        try scene.client.delete("a b/ü")
        let requests = scene.server.requests
        #expect(Set(requests.map(\.connection)) == [0], "the connection was not kept")
        #expect(requests[0].head[0] == "PUT /bucket/store/name HTTP/1.1")
        #expect(
            requests[0].headers["if-none-match"] == "*" && requests[0].body == Array("body".utf8))
        #expect(
            requests[0].headers["expect"] == nil && requests[0].headers["transfer-encoding"] == nil)
        #expect(
            requests[0].headers["authorization"]?.contains(
                "SignedHeaders=content-type;host;if-none-match;x-amz-content-sha256;x-amz-date,")
                == true)
        #expect(
            requests[4].target
                == "/bucket?encoding-type=url&list-type=2&max-keys=7&prefix=store%2Flog%2F&start-after=store%2Flog%2F1"
        )
        #expect(requests[5].head[0] == "DELETE /bucket/store/a%20b/%C3%BC HTTP/1.1")
        let counters = scene.bucket.counters
        #expect(
            counters[.put] == .init(requests: 2, errors: 0, retries: 0, bytesUp: 8, bytesDown: 0))
        #expect(counters[.get].requests == 2 && counters[.get].errors == 0)
        #expect(counters[.list].bytesDown == emptyListing.utf8.count)
    }

    @Test("An error in the body of a 200 is one")
    func errorInSuccess() throws {
        let scene = try Scene { _ in [.error(200, "InternalError")] }
        #expect(scene.kinds() == [.unavailable, .badAnswer, .badAnswer, .badAnswer])
        guard case .unknown(let reason) = try scene.create() else { throw TestFailure("known") }
        #expect(reason.contains("InternalError"))
    }

    @Test("A page of a proxy is no success, and its 404 is no missing key")
    func proxies() throws {
        let page = "<html><br>Welcome</html>"
        let welcome = try Scene { _ in [.answer(200, ["Content-Type: text/html"], body: page)] }
        #expect(try welcome.create().isUnknown)
        #expect(kind(try welcome.client.list("")) == .badAnswer)
        for body in ["", page] {
            let missing = try Scene { _ in [.answer(404, ["Content-Type: text/html"], body: body)] }
            #expect(missing.kinds() == [.badAnswer, .badAnswer, .badAnswer, .badAnswer])
        }
        let bucket = try Scene { _ in [.error(404, "NoSuchBucket")] }
        #expect(bucket.kinds() == [.noBucket, .noBucket, .noBucket, .noBucket])
    }

    /// A proxy that answered each request with an empty 200 for 1.5 s left a gap in the log: the put counted as
    /// stored, and the leader acknowledged 1,461 changes behind the gap as replicated.
    @Test("A success without an ETag, without a body, or with one that is not S3's is none")
    func hollowSuccess() throws {
        let empty = try Scene { _ in [.answer(200)] }
        #expect(try empty.create().isUnknown)
        #expect(kind(try empty.put()) == .unavailable)
        #expect(kind(try empty.get()) == .badAnswer)
        #expect(kind(try empty.client.list("")) == .badAnswer)
        let noTag = try Scene { _ in [.answer(200, ["ETag: "])] }
        #expect(try noTag.create().isUnknown)
        let page = "<html><br>Welcome</html>"
        let html = try Scene { _ in
            [.answer(200, ["Content-Type: text/html; charset=utf-8", "ETag: \"x\""], body: page)]
        }
        #expect(html.kinds() == [.unavailable, .badAnswer, .badAnswer, .badAnswer])
        #expect(html.server.requests.count == 4, "rubbish is not asked for again at once")
    }

    @Test(
        "Redirects are refused, and the region and endpoint are named",
        arguments: [301, 302, 307, 308])
    func redirects(status: Int) throws {
        let scene = try Scene { _ in
            [
                .error(
                    status, "PermanentRedirect",
                    ["Location: http://127.0.0.1:1/there", "x-amz-bucket-region: eu-west-9"],
                    more: "<Endpoint>b.s3.example.com</Endpoint>")
            ]
        }
        #expect(scene.kinds() == Array(repeating: .redirected, count: 4))
        #expect(scene.server.requests.count == 4)
        let error = #expect(throws: ObjectStoreError.self) { try scene.get() }
        let words = "\(error.map { "\($0)" } ?? "")"
        #expect(words.contains("region eu-west-9") && words.contains("endpoint b.s3.example.com"))
        let malformed = try Scene { _ in
            [.error(400, "AuthorizationHeaderMalformed", more: "<Region>eu-west-9</Region>")]
        }
        #expect(malformed.kinds() == Array(repeating: .redirected, count: 4))
    }

    @Test(
        "What the server denies is named",
        arguments: [("AccessDenied", 403), ("SignatureDoesNotMatch", 403), ("", 401)])
    func denied(code: String, status: Int) throws {
        let scene = try Scene { _ in [code.isEmpty ? .answer(status) : .error(status, code)] }
        #expect(scene.kinds() == Array(repeating: .denied, count: 4))
        let error = #expect(throws: ObjectStoreError.self) { try scene.get() }
        let words = "\(error.map { "\($0)" } ?? "")"
        #expect(words.contains("get name in s3://bucket/store") && words.contains("id"))
        #expect(!words.contains("secret of") && scene.server.requests.count == 5)
    }

    @Test("Busy servers are asked again, and Retry-After is heeded up to the limit")
    func busy() throws {
        for status in [429, 500, 502, 503, 504] {
            let scene = try Scene { request in
                request.number % 2 == 0
                    ? [.error(status, "SlowDown", ["Retry-After: 86400"])]
                    : [.answer(request.target.contains("?") ? 200 : 200, body: emptyListing)]
            }
            #expect(try scene.get() == emptyListing)
            _ = try scene.client.list("")
            #expect(scene.bucket.counters[.list].retries == 1)
            // Only 429 says that nothing was done.
            if status == 429 {
                let outcome = try scene.create()
                #expect(outcome.isUnknown, "a put's answer has no body")
            } else {
                #expect(
                    try scene.create()
                        == .unknown(try reason(scene, status)))
            }
        }
        let always = try Scene { _ in [.error(503, "SlowDown")] }
        #expect(always.kinds() == Array(repeating: .unavailable, count: 4))
        // One put, and three attempts of each other.
        #expect(always.server.requests.count == 10)
    }

    private func reason(_ scene: Scene, _ status: Int) throws -> String {
        "put name in s3://bucket/store at \(scene.server.url): \(status) SlowDown"
    }

    @Test("A create is repeated where nothing was done: 409, 429; a put always")
    func repeatedPuts() throws {
        for status in [409, 429] {
            let scene = try Scene { request in
                request.number < 2 ? [.error(status, "ConditionalRequestConflict")] : [.stored]
            }
            #expect(try scene.create() == .created)
            #expect(scene.server.requests.count == 3)
            let always = try Scene { _ in [.error(status, "ConditionalRequestConflict")] }
            #expect(kind(try always.create()) == .unavailable)
        }
        let scene = try Scene { request in
            switch request.number {
            case 0: [.close]
            case 1: [.error(503, "SlowDown")]
            default: [.stored]
            }
        }
        try scene.put()
        #expect(scene.bucket.counters[.put].retries == 2)
    }

    @Test("501 and other answers have their names")
    func others() throws {
        let notImplemented = try Scene { _ in [.error(501, "NotImplemented")] }
        #expect(notImplemented.kinds() == Array(repeating: .badAnswer, count: 4))
        let teapot = try Scene { _ in [.answer(418)] }
        #expect(teapot.kinds() == Array(repeating: .badAnswer, count: 4))
        let conflict = try Scene { _ in [.answer(412)] }
        #expect(kind(try conflict.get()) == .badAnswer)
        let odd = try Scene { _ in [.answer(202)] }
        #expect(odd.kinds() == [.unavailable, .badAnswer, .badAnswer, .badAnswer])
    }
}
