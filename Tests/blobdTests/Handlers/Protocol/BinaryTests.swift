import BlobProtocol
import Bytes
import Glibc
import TestSupport
import Testing

@testable import BlobServer

/// The binary protocol beyond the transcripts of its document.
@Suite(.waiting) struct BinaryTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try DaemonProcess(["--max-payload", "1MiB"])
        try daemon.put("a", [1, 2, 3], query: "?ttl=3600")
    }

    /// A get of `a`, or another frame with some of its bytes changed.
    private func changed(_ changes: [Int: UInt8], of frame: [UInt8]? = nil) throws -> [UInt8] {
        var bytes = try frame ?? getFrame("a")
        for (place, byte) in changes { bytes[place] = byte }
        return bytes
    }

    /// The head of a get of a range, or with nothing in the place of its count.
    private func rangeHead(count: UInt8 = 1) throws -> [UInt8] {
        var head: [UInt8] = []
        try Get.Request.compose(id: "a", range: WireRange(first: 1, count: 1), into: &head)
        head[8] = count
        return head
    }

    private func put(_ draft: Put.Draft, _ byteCount: Int) throws -> [UInt8] {
        try putFrame(draft, body: [UInt8](repeating: 1, count: byteCount))
    }

    /// Frames that are refused: with a status and a code, and whether the connection continues after their bodies.
    private func refused() throws -> [(bytes: [UInt8], words: String, continues: Bool)] {
        func watch(_ target: String) throws -> [UInt8] {
            try TestRequest("FOLLOW", target).bytes(in: .call)
        }
        func digest(_ byteCount: UInt8, part: UInt8 = 0) -> [UInt8] {
            [UInt8](repeating: 0, count: 16) + [byteCount, part] + [UInt8](repeating: 0, count: 6)
                + [UInt8](repeating: 97, count: Int(byteCount + part))
        }
        func head(_ draft: Put.Draft) throws -> [UInt8] {
            var head: [UInt8] = []
            try draft.compose(into: &head)
            return head
        }
        let ttl = try head(Put.Draft(id: "b", lifetime: .seconds(60)))
        let expiry = try head(
            Put.Draft(id: "b", lifetime: .until(milliseconds: 4_000_000_000_000)))
        // An operation that no version knows, with a body over the limit for payloads, after which the daemon closed.
        let unknown = try changed(
            [1: 99], of: frame(.put, id: 7, body: .init(repeating: 0xB1, count: 3 << 20)))
        return [
            // The next operation there may be, those that version 1 had, and a body where none should be.
            (try changed([1: 6]), "405 method_not_allowed", true),
            (try changed([1: 10]), "405 method_not_allowed", true),
            (try changed([1: 11]), "405 method_not_allowed", true),
            (unknown, "405 method_not_allowed", true),
            (
                try TestRequest("GET", "/v1/notifications/a", body: [1]).bytes(in: .call),
                "400 malformed", true
            ),
            (
                try put(Put.Draft(id: "b", lifetime: .seconds(2_592_001)), 100_000),
                "400 bad_ttl", true
            ),
            (
                try put(Put.Draft(id: "b", lifetime: .until(milliseconds: 1_000)), 100_000),
                "400 bad_expiry", true
            ),
            (try changed([48: 1], of: getFrame("x")), "400 bad_id", true),
            (try getFrame("none"), "404 not_found", true),
            // A range of no bytes, and those after the end.
            (frame(.get, flags: .rangeGiven, head: try rangeHead(count: 0)), "400 malformed", true),
            (
                frame(
                    .get, flags: [.rangeGiven, .digestGiven],
                    head: Array(try rangeHead(count: 0).prefix(16)) + digest(32).dropFirst(16)),
                "400 malformed", true
            ),
            (try getFrame("a", range: WireRange(first: 3, count: 1)), "416 bad_range", true),
            (
                try getFrame("a", range: WireRange(first: .max - 1, count: .max - 1)),
                "416 bad_range", true
            ),
            // Digests of another length, with a part, and of nothing.
            (frame(.get, flags: .digestGiven, head: digest(31)), "400 bad_digest", true),
            (frame(.get, flags: .digestGiven, head: digest(33)), "400 bad_digest", true),
            (frame(.get, flags: .digestGiven, head: digest(32, part: 1)), "400 bad_part", true),
            (frame(.get, flags: .digestGiven, head: digest(32)), "404 not_found", true),
            // What is no feed, and bad filters and cursors of one.
            (try watch("/v1/users/o/notifications"), "400 malformed", true),
            (try watch("/v1/stats"), "400 malformed", true),
            (try watch("/v1/users/o/changes?since=x"), "400 bad_cursor", true),
            (try watch("/v1/users/o/changes?limit=1001"), "400 bad_limit", true),
            (try watch("/v1/users/o/changes?read=3"), "400 bad_query", true),
            (try watch("/v1/users/o/changes?app="), "400 bad_app", true),
            // A reserved field, and a field without its flag.
            (try changed([12: 1]), "400 reserved", false),
            (frame(.put, head: ttl, body: [1]), "400 reserved", false),
            (frame(.put, head: expiry, body: [1]), "400 reserved", false),
            (frame(.get, head: try rangeHead()), "400 reserved", false),
            // A body over the limit is taken to its end. The connection was closed when 16 MiB had come.
            (try put(Put.Draft(id: "b"), 24 << 20), "413 payload_too_large", false),
            (helloFrame, "400 malformed", false),
        ]
    }

    @Test(
        "What is refused says why, and the connection goes on after its body where its end is known"
    )
    func refusals() throws {
        for (number, (bytes, words, continues)) in try refused().enumerated() {
            let client = try daemon.connectBinary()
            let answer = try client.exchange(bytes)
            #expect("\(answer.status) \(answer.code ?? "")" == words, "\(number)")
            #expect(answer.frame.opcode == bytes[1], "\(number)")
            if continues {
                #expect(try client.exchange(frame(.ping, body: [9])).body == [9], "\(number)")
                #expect(try client.exchange(getFrame("a")).body == [1, 2, 3], "\(number)")
            } else {
                #expect(try client.isClosed(), "\(number)")
            }
        }
        // Before hello nothing is answered, not even what no version knows: the connection continued without one.
        for bytes in [try getFrame("a"), try changed([1: 99])] {
            let client = try daemon.connect()
            #expect(try client.exchange(bytes).code == "malformed")
            #expect(try client.isClosed())
        }
        #expect(try daemon.statistic("notifications") == 1)
    }

    @Test("A put that is cut short by the end of the input is 400 and stores nothing")
    func halfClosed() throws {
        let put = try put(Put.Draft(id: "a"), 1_000)
        let inBody = try daemon.connectBinary()
        inBody.send(Array(put.dropLast()))
        inBody.endSending()
        let answer = try inBody.frameAnswer()
        #expect(answer.status == 400 && answer.code == "body_mismatch")
        #expect(try inBody.isClosed())
        // Before the body there is nothing to answer to.
        for count in [1, 23, 24, 40] {
            let inHead = try daemon.connectBinary()
            inHead.send(Array(put.prefix(count)))
            inHead.endSending()
            #expect(try inHead.isClosed(), "\(count) bytes")
        }
        // What is whole is answered.
        let whole = try daemon.connectBinary()
        whole.send(try getFrame("a"))
        whole.endSending()
        #expect(try whole.frameAnswer().body == [1, 2, 3])
        #expect(try whole.isClosed())
        #expect(try daemon.statistic("publishes") == 1)
    }

    // Hello announced 64; up to 256 were answered before one of the answers left.
    @Test("No more than 64 requests are answered before the answers leave")
    func inFlight() {
        var batch = AnswerBatch(linkedByteCountMin: 0)
        func fill() -> Int {
            var count = 0
            while !batch.isSectionFull {
                batch.endAnswer()
                count += 1
            }
            return count
        }
        #expect(fill() == WireLimits.requestsInFlightMax)
        let isFull = batch.isFull
        #expect(!isFull)
        for _ in 0..<3 {
            batch.beginSection()
            #expect(fill() == WireLimits.requestsInFlightMax)
        }
        let isFullThen = batch.isFull
        #expect(isFullThen)
        batch.reset()
        #expect(fill() == WireLimits.requestsInFlightMax)
    }

    @Test("The 65th request waits and is answered: no error, in both dialects")
    func manyInFlight() throws {
        let count = 1_000
        for isBinary in [true, false] {
            let speaker = try Speaker(daemon, isBinary: isBinary)
            // In one piece: sent one by one, answers that nobody reads fill the socket, and then both sides wait.
            let request = try speaker.getRequest("a")
            speaker.client.send(Array(repeatElement(request, count: count).joined()))
            for _ in 0..<count { #expect(try speaker.answer().body == [1, 2, 3]) }
        }
    }

    @Test("Who does not read is not served on: the requests behind stay where they are")
    func unread() throws {
        try daemon.put("large", [UInt8](repeating: 5, count: 16_000), type: "image/png")
        let client = try daemon.connectBinary()
        // 3 MB of answers, more than a socket holds.
        var frames: [UInt8] = []
        for _ in 0..<200 { frames += try getFrame("large") }
        let delete = TestRequest("DELETE", "/v1/notifications/a")
        client.send(try frames + delete.bytes(in: .call))
        try daemon.waitUntil("bytes_sent") { $0 > 100_000 }
        #expect(try daemon.request("GET", "/v1/notifications/a").status == 200)
        for _ in 0..<200 { #expect(try client.frameAnswer().body.count == 16_000) }
        #expect(try client.frameAnswer().status == 204)
        #expect(try daemon.request("GET", "/v1/notifications/a").status == 404)
    }

    // Version 1 had other operations. Its client must learn what to do, not that a frame is malformed.
    @Test(
        "A client of another version is refused by name",
        arguments: [
            (1, 1, "version 1", "client"), (0, 1, "versions 0 to 1", "client"),
            (3, 4, "versions 3 to 4", "daemon"),
        ])
    func versions(lowest: UInt16, highest: UInt16, spoken: String, side: String) throws {
        let client = try daemon.connect()
        var head: [UInt8] = []
        Hello.Request(lowestVersion: lowest, highestVersion: highest).compose(into: &head)
        // What follows is not read.
        let answer = try client.exchange(frame(.hello, id: 7, head: head) + getFrame("a"))
        #expect(answer.status == 400 && answer.code == "version")
        #expect(
            jsonMember(String(decoding: answer.body, as: UTF8.self), "detail")
                == "the client speaks \(spoken) of the binary protocol, this daemon version 2: upgrade the \(side)"
        )
        #expect(answer.frame.requestID == 7 && answer.frame.opcode == 1)
        #expect(try client.isClosed())
        head = []
        Hello.Request(lowestVersion: 1, highestVersion: 2).compose(into: &head)
        let both = try daemon.connect().exchange(frame(.hello, head: head))
        #expect(try Hello.Response.parse(both.head.span.bytes).version == 2)
    }

    @Test("A watch answers at once and with each change, until its client goes")
    func watch() throws {
        let client = try daemon.connectBinary()
        client.send(
            try TestRequest("FOLLOW", "/v1/users/o/changes?since=latest").bytes(in: .call))
        // It is answered no more.
        client.send(try getFrame("a"))
        func page() throws -> SeenPage {
            let answer = try client.frameAnswer()
            #expect(answer.status == 200 && answer.frame.continues)
            #expect(answer.frame.opcode == Opcode.call.rawValue)
            let head = try Call.Response.parse(answer.head.span.bytes)
            #expect(head.mediaType.of(answer.head.span.bytes).text() == "application/json")
            return try SeenPage(answer.body)
        }
        #expect(try page().words == [])
        for id in ["b", "c"] {
            try daemon.put(id, [1], query: "?owner=o")
            #expect(try page().words == ["published \(id)"])
        }
        #expect(daemon.stop() == 0)
        let last = try client.frameAnswer()
        #expect(last.status == 503 && last.code == "stopping" && !last.frame.continues)
        #expect(try client.isClosed())
    }

    @Test("hello tells the daemon's settings")
    func hello() throws {
        let daemon = try DaemonProcess([
            "--max-payload", "1MiB", "--max-ttl", "2h", "--default-ttl", "1h",
        ])
        let answer = try daemon.connect().exchange(helloFrame)
        let hello = try Hello.Response.parse(answer.head.span.bytes)
        #expect(hello.payloadByteCountMax == 1 << 20)
        #expect(hello.ttlSecondsMax == 7_200 && hello.defaultTTLSeconds == 3_600)
        #expect(hello.requestsInFlightMax == 64)
    }

    @Test(
        "A get in another form has the same answer; a range that reaches past the end has what there is"
    )
    func forms() throws {
        let client = try daemon.connectBinary()
        let bodies = [
            "1": SeededGenerator.bytes(1), "copied": SeededGenerator.bytes(16_384),
            "linked": SeededGenerator.bytes(65_536), "long": SeededGenerator.bytes(300_001),
            "empty": [], "text": shrinkingText(9_000),
        ]
        for (id, body) in bodies {
            try daemon.put(id, body, type: id == "text" ? "text/plain" : "image/png")
            for acceptsGzip in [false, true] {
                // The part named.
                var head: [UInt8] = []
                try Get.Request.compose(id: id, part: "payload", into: &head)
                let flags = Get.flags(acceptsGzip: acceptsGzip)
                let named = try client.exchange(frame(.get, flags: flags, id: 77, head: head))
                #expect(named.status == 200)
                for _ in 0..<2 {
                    let answer = try client.exchange(
                        try getFrame(id, acceptsGzip: acceptsGzip, requestID: 77))
                    #expect(answer.frame == named.frame && answer.head == named.head, "\(id)")
                    #expect(answer.body == named.body, "\(id)")
                    if !acceptsGzip || id != "text" { #expect(answer.body == body, "\(id)") }
                }
            }
        }
        let tail = try client.exchange(
            try getFrame("copied", range: WireRange(first: 16_380, count: .max - 1)))
        #expect(tail.status == 206 && tail.body == bodies["copied"]?.suffix(4))
        // What is stored compressed is inflated up to there.
        let inflated = try client.exchange(
            try getFrame(
                "text", acceptsGzip: true, range: WireRange(first: 70_000, count: 500)))
        #expect(inflated.status == 206 && inflated.body == Array(bodies["text"]![70_000..<70_500]))
    }

    @Test("One sync serves many publishers")
    func groupCommit() throws {
        let clients = try (0..<32).map { _ in try daemon.connectBinary() }
        for round in 0..<10 {
            // It finds all of them at once.
            daemon.signal(SIGSTOP)
            for (index, client) in clients.enumerated() {
                client.send(try putFrame(Put.Draft(id: "\(index)"), body: [UInt8(round)]))
            }
            daemon.signal(SIGCONT)
            for client in clients { #expect(try client.frameAnswer().status < 300) }
        }
        #expect(try daemon.statistic("publishes") == 1 + 320)
        // A few for each round: its first change, and those that came meanwhile.
        #expect(try daemon.statistic("syncs") <= 80)
    }
}
