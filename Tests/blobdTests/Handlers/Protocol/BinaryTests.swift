import BlobProtocol
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// The binary protocol beyond the transcripts of its document.
@Suite(.waiting) struct BinaryTests {
    let daemon: DaemonProcess

    init() throws {
        daemon = try DaemonProcess()
        try daemon.put("a", [1, 2, 3], query: "?ttl=3600")
    }

    /// A frame of an operation that no version knows.
    private static func unknownFrame(body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        RequestFrame(
            opcode: 99, flags: [], requestID: 7, headByteCount: 2,
            bodyByteCount: UInt64(body.count)
        ).compose(into: &bytes)
        return bytes + [0xFF, 0xFF] + body
    }

    @Test("Operations that are calls are none, and a body where none should be is thrown away")
    func calls() throws {
        let client = try daemon.connectBinary()
        for opcode: UInt8 in 6...9 {
            var bytes = try getFrame("a")
            bytes[1] = opcode
            #expect(try client.exchange(bytes).code == "method_not_allowed")
        }
        let body = try client.exchange(callFrame(.get, "/v1/notifications/a", body: "x"))
        #expect(body.status == 400)
        #expect(try client.exchange(getFrame("a")).body == [1, 2, 3])
    }

    // It was answered 405, and the connection went on without hello.
    @Test("An unknown opcode as the first frame is 400, and the daemon closes")
    func unknownFirst() throws {
        let client = try daemon.connect()
        let answer = try client.exchange(Self.unknownFrame(body: [1]))
        #expect(answer.status == 400 && answer.code == "malformed")
        #expect(answer.frame.opcode == 99 && answer.frame.requestID == 7)
        #expect(try client.isClosed())
    }

    // Behind one with a body over the limit for payloads the daemon closed.
    @Test("An unknown opcode is 405, and the connection goes on behind its body, however long")
    func unknownLong() throws {
        let daemon = try DaemonProcess(["--max-payload", "1MiB"])
        let client = try daemon.connectBinary()
        let body = [UInt8](repeating: 0xB1, count: 3 << 20)
        let answer = try client.exchange(Self.unknownFrame(body: body))
        #expect(answer.status == 405 && answer.code == "method_not_allowed")
        #expect(answer.frame.requestID == 7)
        #expect(try client.exchange(frame(.ping, body: [9])).body == [9])
        // A known one with such a body ends it.
        let large = try client.exchange(
            try putFrame(Put.Draft(id: "x"), body: []).replacingBodyByteCount(3 << 20))
        #expect(large.status == 413)
        #expect(try client.isClosed())
    }

    @Test("A put that is cut short by the end of the input is 400 and stores nothing")
    func halfClosed() throws {
        let put = try putFrame(Put.Draft(id: "a"), body: [UInt8](repeating: 9, count: 1_000))
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

    @Test("A range of 0 bytes is 400, and the connection goes on")
    func emptyRange() throws {
        var head: [UInt8] = []
        try Get.Request.compose(id: "a", range: WireRange(first: 1, count: 1), into: &head)
        head[8] = 0
        var blobHead = Array(head.prefix(16))
        blobHead += [UInt8](repeating: 7, count: 32)
        let client = try daemon.connectBinary()
        for bytes in [
            frame(.get, flags: .rangeGiven, head: head),
            frame(.getBlob, flags: .rangeGiven, head: blobHead),
        ] {
            let answer = try client.exchange(bytes)
            #expect(answer.status == 400 && answer.code == "malformed")
        }
        #expect(try client.exchange(try getFrame("a")).body == [1, 2, 3])
    }

    @Test("A field without its flag is a reserved field: 400, and the daemon closes")
    func withoutFlag() throws {
        var ttl: [UInt8] = []
        try Put.Draft(id: "b", ttlSeconds: 60).compose(into: &ttl)
        var expiry: [UInt8] = []
        try Put.Draft(id: "b", expiryMilliseconds: 4_000_000_000_000).compose(into: &expiry)
        var range: [UInt8] = []
        try Get.Request.compose(id: "a", range: WireRange(first: 1, count: 1), into: &range)
        for bytes in [
            frame(.put, head: ttl, body: [1]), frame(.put, head: expiry, body: [1]),
            frame(.get, head: range),
        ] {
            let client = try daemon.connectBinary()
            let answer = try client.exchange(bytes)
            #expect(answer.status == 400 && answer.code == "reserved")
            #expect(try client.isClosed())
        }
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
        let binary = try daemon.connectBinary()
        var frames: [UInt8] = []
        for number in 0..<count { frames += try getFrame("a", requestID: UInt32(number)) }
        binary.send(frames)
        for number in 0..<count {
            let answer = try binary.frameAnswer()
            #expect(answer.status == 200 && answer.frame.requestID == UInt32(number))
        }
        let http = try daemon.connect()
        // In one piece: sent one by one, answers that nobody reads fill the socket, and then both sides wait.
        let request = httpRequest("GET", "/v1/notifications/a/payload")
        http.send(Array(repeatElement(request, count: count).joined()))
        for _ in 0..<count { #expect(try http.answer().body == [1, 2, 3]) }
    }

    @Test("Who does not read is not served on: the requests behind stay where they are")
    func unread() throws {
        try daemon.put("large", [UInt8](repeating: 5, count: 16_000), type: "image/png")
        let client = try daemon.connectBinary()
        // 3 MB of answers, more than a socket holds.
        var frames: [UInt8] = []
        for _ in 0..<200 { frames += try getFrame("large") }
        client.send(frames + (try callFrame(.delete, "/v1/notifications/a")))
        try daemon.waitUntil("bytes_sent") { $0 > 100_000 }
        #expect(try daemon.request("GET", "/v1/notifications/a").status == 200)
        for _ in 0..<200 { #expect(try client.frameAnswer().body.count == 16_000) }
        #expect(try client.frameAnswer().status == 204)
        #expect(try daemon.request("GET", "/v1/notifications/a").status == 404)
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

    @Test("A range past the end is 416; one that reaches past it gets what there is")
    func ranges() throws {
        try daemon.put("r", Array(0..<100))
        let client = try daemon.connectBinary()
        let past = try client.exchange(try getFrame("r", range: WireRange(first: 100, count: 1)))
        #expect(past.status == 416 && past.code == "bad_range")
        let huge = WireRange(first: .max - 1, count: .max - 1)
        #expect(try client.exchange(try getFrame("r", range: huge)).status == 416)
        let tail = try client.exchange(
            try getFrame("r", range: WireRange(first: 90, count: .max - 1)))
        #expect(tail.status == 206 && tail.body == Array(90..<100))
    }

    @Test("One sync serves many publishers")
    func groupCommit() throws {
        let clients = try (0..<32).map { _ in try daemon.connectBinary() }
        for round in 0..<10 {
            for (index, client) in clients.enumerated() {
                client.send(try putFrame(Put.Draft(id: "\(index)"), body: [UInt8(round)]))
            }
            for client in clients { #expect(try client.frameAnswer().status < 300) }
        }
        #expect(try daemon.statistic("publishes") == 1 + 320)
        #expect(try daemon.statistic("syncs") < 320)
    }
}

extension [UInt8] {
    /// The frame with another size of the body, which is not there.
    fileprivate func replacingBodyByteCount(_ count: UInt64) -> [UInt8] {
        var bytes = self
        for index in 0..<8 { bytes[16 + index] = UInt8(truncatingIfNeeded: count >> (8 * index)) }
        return bytes
    }
}
