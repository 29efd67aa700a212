import Dispatch
import TestSupport
import Testing

@testable import ObjectStore

/// Connections that are cut, stall, lie about lengths, or never end. A put whose request went out has an unknown outcome and
/// was sent once, whatever happens then.
@Suite struct BrokenTransferTests {
    private static let whole = "HTTP/1.1 200 OK\nContent-Length: 10\nETag: \"e\"\n\n0123456789"

    @Test("A server that goes away: a put that could not begin is an error, and not unknown")
    func gone() throws {
        var server: ScriptedServer? = try ScriptedServer { _ in [.stored] }
        let client = try bucket(try #require(server)).makeClient()
        let body: [UInt8] = [1]
        #expect(try client.create("n", body.span.bytes) == .created)
        server = nil
        #expect(kind(try client.create("n", body.span.bytes)) == .notReachable)
    }

    @Test("Nobody listens: nothing was done, and that is an error")
    func unreachable() throws {
        let access = try ObjectStoreAccess(
            ProcessEnvironment([
                "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "a",
                "AWS_SECRET_ACCESS_KEY": "b",
            ]))
        let bucket = ObjectBucket(
            try ObjectStoreURL("s3://bucket"), access: access, limits: quickLimits)
        let client = try bucket.makeClient()
        let body: [UInt8] = [1]
        #expect(kind(try client.create("n", body.span.bytes)) == .notReachable)
        #expect(kind(try client.put("n", body.span.bytes)) == .notReachable)
        #expect(kind(try client.list("")) == .notReachable)
        #expect(bucket.counters[.put].requests == 4 && bucket.counters[.put].bytesUp == 0)
    }

    @Test("Cut before the answer, in its head, and in its body")
    func cuts() throws {
        let bytes = Array(Self.whole.replacing("\n", with: "\r\n").utf8)
        for count in [0, 1, 12, 17, 30, bytes.count - 10, bytes.count - 1] {
            for isReset in [false, true] {
                let scene = try Scene { _ in
                    [.send(Array(bytes[..<count])), isReset ? .reset : .close]
                }
                #expect(try scene.create().isUnknown, "cut after \(count)")
                #expect(
                    scene.server.requests.count == 1, "a put was sent twice, cut after \(count)")
                var kinds = scene.kinds()
                // Asked for the rest, this server begins again.
                if count == bytes.count - 1, kinds[1] == .badAnswer { kinds[1] = .notReachable }
                #expect(
                    kinds == [.unavailable, .notReachable, .notReachable, .notReachable],
                    "cut after \(count)")
            }
        }
    }

    @Test(
        "A connection that ends with a put's request instead of its answer: the put is not sent again"
    )
    func cutWhenReused() throws {
        for body in ["", "body"] {
            let scene = try Scene { request in
                request.number == 0
                    ? [.answer(200, body: "x")] : request.number == 1 ? [.close] : [.stored]
            }
            #expect(try scene.get() == "x")
            #expect(try scene.create(body).isUnknown)
            #expect(scene.server.requests.count == 2)
            #expect(try scene.create(body) == .created)
            #expect(scene.server.requests[1].body == Array(body.utf8))
        }
        // What may be done twice is.
        let scene = try Scene { request in
            request.number == 1 ? [.close] : [.answer(200, body: "x")]
        }
        #expect(try scene.get() == "x" && scene.get() == "x")
    }

    @Test("A connection that was closed between two requests is replaced")
    func closedBetween() throws {
        let scene = try Scene { _ in [.answer(200, body: "x"), .close] }
        for count in 1...5 {
            #expect(try scene.get() == "x")
            try scene.server.waitForClosed(count)
        }
        let puts = try Scene { _ in [.stored, .close] }
        for count in 1...5 {
            #expect(try puts.create() == .created)
            try puts.server.waitForClosed(count)
        }
        #expect(puts.server.requests.count == 5)
    }

    @Test("An object is read on where it was cut, once only each byte")
    func resumed() throws {
        let scene = try Scene { request in
            switch request.headers["range"] {
            case nil: [.text("HTTP/1.1 200 OK\nContent-Length: 10\n\n0123"), .close]
            case "bytes=4-":
                [
                    .text("HTTP/1.1 206 OK\nContent-Length: 6\nContent-Range: bytes 4-9/10\n\n45"),
                    .close,
                ]
            case "bytes=6-": [.answer(206, ["Content-Range: bytes 6-9/10"], body: "6789")]
            default: [.answer(500)]
            }
        }
        #expect(try scene.get() == "0123456789")
        // Another object than before.
        let other = try Scene { request in
            request.number == 0
                ? [.text("HTTP/1.1 200 OK\nContent-Length: 10\n\n0123"), .close]
                : [.answer(206, ["Content-Range: bytes 4-11/12"], body: "45678901")]
        }
        #expect(kind(try other.get()) == .badAnswer)
    }

    @Test(
        "Ranges that were not asked for are refused",
        arguments: [
            (200, ""), (206, ""), (206, "bytes 2-4/5"), (206, "bytes 1-3/5"), (206, "bytes 1-2/4"),
            (206, "bytes 1-3/*"), (206, "bytes 1-3/2"), (206, "items 1-3/4"), (206, "bytes 1--3/4"),
        ])
    func wrongRanges(status: Int, range: String) throws {
        let scene = try Scene { request in
            request.number == 0
                ? [.text("HTTP/1.1 200 OK\nContent-Length: 4\n\nz"), .close]
                : [.answer(status, range.isEmpty ? [] : ["Content-Range: \(range)"], body: "abc")]
        }
        #expect(kind(try scene.get()) == .badAnswer)
        #expect(scene.server.requests.count == 2)
    }

    @Test("A length that is too short, too long, given twice, or none")
    func wrongLengths() throws {
        // The bytes behind the end belong to nobody, and not to the next answer.
        let short = try Scene { _ in
            [
                .text(
                    "HTTP/1.1 200 OK\nContent-Length: 3\n\nabcdefHTTP/1.1 404 No\nContent-Length: 0\n\n"
                )
            ]
        }
        for _ in 0..<3 { #expect(try short.get() == "abc") }
        let long = try Scene { _ in [.text("HTTP/1.1 200 OK\nContent-Length: 30\n\nabc"), .close] }
        // Asked for the rest, this server begins again.
        #expect(kind(try long.get()) == .badAnswer)
        #expect(try long.create().isUnknown)
        for head in [
            "Content-Length: 3\nContent-Length: 4", "Content-Length: -3", "Content-Length: x",
            "X: y",
            "Content-Length: 3\nContent-Encoding: gzip", "Content-Length: 99999999999999999999",
        ] {
            let scene = try Scene { _ in [.text("HTTP/1.1 200 OK\n\(head)\n\nabc"), .close] }
            let kind = kind(try scene.get())
            #expect(kind == .badAnswer || kind == .notReachable || kind == .tooLarge, "\(head)")
        }
    }

    @Test("Chunked bodies are read, cut ones are not")
    func chunked() throws {
        let head = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"
        let scene = try Scene { _ in
            [.text(head + "3\nabc\n4;x=y\ndefg\n0\nContent-Length: 1\nX-Trailer: t\n\n")]
        }
        #expect(try scene.get() == "abcdefg")
        #expect(try scene.get() == "abcdefg")
        #expect(kind(try scene.get(byteCountMax: 6)) == .tooLarge)
        let cut = try Scene { request in
            request.headers["range"] == nil
                ? [.text(head + "3\nabc\n4\nde"), .close]
                : [.answer(206, ["Content-Range: bytes 5-6/7"], body: "fg")]
        }
        #expect(try cut.get() == "abcdefg")
        let bad = try Scene { _ in [.text(head + "zz\nabc"), .close] }
        #expect(kind(try bad.get()) == .notReachable)
    }

    @Test("Answers that come byte by byte are whole in the end")
    func slowly() throws {
        let bytes = Array(Self.whole.replacing("\n", with: "\r\n").utf8)
        let scene = try Scene { request in
            request.method == "PUT"
                ? [.sendSlowly(Array("HTTP/1.1 200 \r\nETag: e\r\nContent-Length: 0\r\n\r\n".utf8))]
                : [.sendSlowly(bytes)]
        }
        #expect(try scene.get() == "0123456789")
        #expect(try scene.create() == .created)
    }

    @Test("A server that never answers is given up")
    func silence() throws {
        var limits = quickLimits
        limits.attemptCountMax = 1
        limits.stallMilliseconds = 1_000
        let scene = try Scene(limits: limits) { _ in [.hold] }
        #expect(try scene.create().isUnknown)
        #expect(kind(try scene.get()) == .notReachable)
        let stalled = try Scene(limits: limits) { _ in
            [.text("HTTP/1.1 200 OK\nContent-Length: 10\n\n0123"), .hold]
        }
        #expect(kind(try stalled.get()) == .notReachable)
    }

    /// With these limits nothing else would end them within an hour.
    @Test("The stop signal ends requests and waits at once, and for ever")
    func stopping() throws {
        var limits = quickLimits
        limits.stallMilliseconds = 3_600_000
        limits.requestMilliseconds = 3_600_000
        limits.backoffMilliseconds = 3_600_000
        limits.backoffMillisecondsMax = 3_600_000
        let held = try Scene(limits: limits) { _ in [.hold] }
        let busy = try Scene(limits: limits) { _ in [.error(503, "SlowDown", ["Retry-After: 3600"])]
        }
        for scene in [held, busy] {
            let (server, stop) = (scene.server, scene.stop)
            DispatchQueue(label: "stop").async {
                try? server.waitForRequests(1)
                stop.stop()
            }
            #expect(kind(try scene.get()) == .stopped)
            #expect(kind(try scene.create()) == .stopped)
            #expect(scene.server.requests.count == 1)
        }
        let put = try Scene(limits: limits) { _ in [.hold] }
        let (server, stop) = (put.server, put.stop)
        DispatchQueue(label: "stop").async {
            try? server.waitForRequests(1)
            stop.stop()
        }
        // It may have been carried out.
        #expect(try put.create().isUnknown)
    }

    @Test("Bodies and heads without an end are not read on")
    func endless() throws {
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: 64 << 10)
        func endless(_ head: String) throws -> Scene {
            try Scene { _ in [.text("HTTP/1.1 \(head)\n\n"), .sendForever(text)] }
        }
        let chunk = [Array("10000\r\n".utf8), text, [13, 10]].flatMap { $0 }
        let chunked = try Scene { _ in
            [.text("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"), .sendForever(chunk)]
        }
        #expect(kind(try chunked.get()) == .tooLarge)
        #expect(kind(try chunked.client.list("")) == .tooLarge)
        #expect(try chunked.create().isUnknown)
        let announced = try endless("200 OK\nContent-Length: 1048577")
        #expect(kind(try announced.get()) == .tooLarge)
        #expect(announced.bucket.counters[.get].bytesDown == 0)
        let error = try endless("403 No")
        #expect(error.kinds() == Array(repeating: .denied, count: 4))
        let down = try endless("500 No")
        #expect(down.kinds() == Array(repeating: .unavailable, count: 4))
        let heads = try Scene { _ in
            [
                .text("HTTP/1.1 200 OK\n"),
                .sendForever(Array("X-Header: aaaaaaaaaaaaaaaaaa\r\n".utf8)),
            ]
        }
        #expect(heads.kinds() == [.unavailable, .badAnswer, .badAnswer, .badAnswer])
        let interim = try Scene { _ in [.sendForever(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))] }
        #expect(interim.kinds()[0] == .unavailable)
        let line = try Scene { _ in [.text("HTTP/1.1 200 OK\nX: "), .sendForever(text)] }
        #expect(line.kinds()[0] == .unavailable)
    }

    @Test(
        "What is no HTTP is no answer",
        arguments: [
            "", "hello\n\n", "HTTP/9.9 what\n\n", "HTTP/1.1\n\n", "\0\0\0\0", "HTTP/1.1 99 x\n\n",
        ])
    func noHTTP(text: String) throws {
        let scene = try Scene { _ in [.text(text), .close] }
        for kind in scene.kinds() {
            #expect(kind != nil && kind != .stopped, "\(text)")
        }
        #expect(try scene.create().isUnknown)
    }

    @Test("Interim answers are passed over")
    func interim() throws {
        let scene = try Scene { _ in
            [.text("HTTP/1.1 100 Continue\nContent-Length: 7\n\n"), .answer(200, body: "abc")]
        }
        #expect(try scene.get() == "abc")
    }
}
