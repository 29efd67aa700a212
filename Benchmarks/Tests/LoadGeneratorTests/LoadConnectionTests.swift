import Testing

@testable import LoadGenerator

/// What a connection sends, and when, over a pair of sockets.
@Suite struct LoadConnectionTests {
    private let payloads: LoadPayloads

    init() throws { payloads = try LoadPayloads(.fixed(100), count: 20, seed: 5) }

    /// The payloads that lines ask for, in their order.
    private func asked(_ bytes: [UInt8]) -> [Int] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").map {
            Int($0.split(separator: "-").last ?? "") ?? -1
        }
    }

    @Test("As many requests as may be in flight leave together, and one for each answer after")
    func depth() throws {
        let wire = Wire()
        var driven = try DrivenConnection(payloads, on: wire, depth: 4)
        try driven.send(now: 10)
        let first = asked(wire.received())
        #expect(first.count == 4)
        wire.send(lineAnswer(bytes(payloads, first[0])) + lineAnswer(bytes(payloads, first[1])))
        try driven.receive(now: 35)
        #expect(driven.record.requestCount == 2)
        #expect(driven.record.latencies.minimum == 25 && driven.record.latencies.maximum == 25)
        #expect(driven.record.fetches.byteCount == 200)
        try driven.send(now: 35)
        #expect(asked(wire.received()).count == 2)
        try driven.send(now: 36)
        #expect(wire.received().isEmpty)
    }

    @Test("Answers in the wrong order, and answers to nothing, end the run")
    func order() throws {
        let wire = Wire()
        var driven = try DrivenConnection(payloads, on: wire, depth: 2)
        try driven.send(now: 0)
        let first = asked(wire.received())
        try #require(first[0] != first[1])
        wire.send(lineAnswer(bytes(payloads, first[1])))
        var failure: LoadFailure?
        do throws(LoadFailure) { try driven.receive(now: 1) } catch { failure = error }
        #expect(failure?.reason == .wrongBytes)

        let silent = Wire()
        var idle = try DrivenConnection(payloads, on: silent, depth: 2)
        silent.send(lineAnswer(bytes(payloads, 0)))
        var unasked: LoadFailure?
        do throws(LoadFailure) { try idle.receive(now: 1) } catch { unasked = error }
        #expect(unasked?.description == "an answer without a request")
    }

    @Test("Nothing is asked before the opening was answered")
    func opening() throws {
        let wire = Wire()
        var driven = try DrivenConnection(
            payloads, on: wire, depth: 2, opening: Array("HELLO\r\n".utf8))
        try driven.send(now: 0)
        #expect(wire.received() == Array("HELLO\r\n".utf8))
        wire.send(Array("+O".utf8))
        try driven.receive(now: 1)
        try driven.send(now: 1)
        #expect(wire.received().isEmpty)
        wire.send(Array("K\r\n".utf8))
        try driven.receive(now: 2)
        try driven.send(now: 2)
        #expect(asked(wire.received()).count == 2)
        #expect(driven.record.answerCount == 0)
    }

    @Test(
        "Publishes are head, body and trailer, each body unlike any other, whatever the socket takes",
        arguments: [3, 100, 16_384, 40_000, 300_000], [nil, 4_608] as [Int32?])
    func publishes(size: Int, sendByteCount: Int32?) throws {
        let payloads = try LoadPayloads(.fixed(size), count: 16, seed: 5)
        let wire = Wire(sendByteCount: sendByteCount)
        var driven = try DrivenConnection(
            payloads, RequestPlan(payloads, readPercent: 0), on: wire, depth: 5)
        var sent: [UInt8] = []
        repeat {
            try driven.send(now: 0)
            sent += wire.received()
        } while driven.connection.awaitsRoom
        var expected: [UInt8] = []
        var bodies: Set<[UInt8]> = []
        for number in 0..<5 {
            var body = bytes(payloads, number)
            let stamp = withUnsafeBytes(
                of: UInt64(number + 1) ^ 0x0102_0304_0506_0708
            ) { Array($0) }
            body.replaceSubrange(0..<min(8, size), with: stamp.prefix(size))
            bodies.insert(body)
            expected += "PUT bench-publish-\(size)-5-\(number) \(size)\r\n".utf8
            expected += body + Array("\r\n".utf8)
        }
        #expect(sent == expected)
        #expect(bodies.count == 5)
        wire.send(Array("+OK\r\n+OK\r\n".utf8))
        try driven.receive(now: 7)
        #expect(driven.record.publishes.requestCount == 2)
        #expect(driven.record.publishes.byteCount == 2 * size)
    }

    @Test("A pair is a publish to a new id and its fetch", arguments: [3, 100, 40_000])
    func pairs(size: Int) throws {
        let payloads = try LoadPayloads(.fixed(size), count: 16, seed: 5)
        let wire = Wire()
        var driven = try DrivenConnection(
            payloads, RequestPlan(payloads, readPercent: 0), on: wire, depth: 1, isPairs: true)
        var ids: Set<String> = []
        var bodies: Set<[UInt8]> = []
        /// Answers a publish, and returns the body that its fetch must have.
        func publish(_ driven: inout DrivenConnection) throws -> [UInt8] {
            try driven.send(now: 0)
            let sent = wire.received()
            let line = String(decoding: sent.prefix { $0 != 0x0D }, as: UTF8.self)
            let id = try #require(line.wholeMatch(of: /PUT (push-[0-9a-f]{16}) \d+/)).1
            ids.insert(String(id))
            wire.send(Array("+OK\r\n".utf8))
            try driven.receive(now: 5)
            try driven.send(now: 5)
            #expect(wire.received() == Array("GET \(id)\r\n".utf8))
            return Array(sent[(line.utf8.count + 2)...].dropLast(2))
        }
        for _ in 0..<3 {
            let body = try publish(&driven)
            bodies.insert(body)
            wire.send(lineAnswer(body))
            try driven.receive(now: 8)
        }
        #expect(ids.count == 3 && bodies.count == 3)
        #expect(driven.record.publishes.requestCount == 3)
        #expect(driven.record.fetches.requestCount == 3)
        #expect(driven.record.publishes.latencies.minimum == 5)
        #expect(driven.record.fetches.latencies.maximum == 3)
        for offset in [0, 2, 8, size - 1] where offset < size {
            let other = Wire()
            var driven = try DrivenConnection(
                payloads, RequestPlan(payloads, readPercent: 0), on: other, depth: 1, isPairs: true)
            try driven.send(now: 0)
            var body = Array(other.received().dropLast(2).suffix(size))
            body[offset] ^= 1
            other.send(Array("+OK\r\n".utf8))
            try driven.receive(now: 1)
            try driven.send(now: 1)
            other.send(lineAnswer(body))
            let failure = #expect(throws: LoadFailure.self) { try driven.receive(now: 2) }
            #expect(failure?.reason == .wrongBytes, "byte \(offset)")
        }
    }

    @Test("New ids differ in many bits, and every form in a request is filled in")
    func newIDs() {
        var seen: Set<[UInt8]> = []
        for stamp in 0..<1_000 as Range<UInt64> { seen.insert(NewID.digits(stamp)) }
        #expect(seen.count == 1_000)
        #expect(Set(seen.map { Array($0.prefix(2)) }).count > 200)
        let form = Array("a \(NewID.form) b \(NewID.form)".utf8)
        var bytes = form
        NewID.write(7, to: &bytes, from: 3)
        let digits = String(decoding: NewID.digits(7), as: UTF8.self)
        #expect(String(decoding: bytes, as: UTF8.self) == "a push-\(digits) b push-\(digits)")
        #expect(NewID.position(of: NewID.digits(7), in: bytes.span.bytes, from: 8) == 31)
        #expect(NewID.position(of: NewID.digits(7), in: bytes.span.bytes, from: 32) == nil)
    }

    @Test("Storing sends each payload once, as it is")
    func storing() throws {
        let wire = Wire()
        var driven = try DrivenConnection(
            payloads, RequestPlan(payloads, purpose: .storing), on: wire,
            depth: 100, for: .storing)
        try driven.send(now: 0)
        var expected: [UInt8] = []
        for index in 0..<20 {
            expected += "PUT bench-100-5-\(index) 100\r\n".utf8
            expected += bytes(payloads, index) + Array("\r\n".utf8)
        }
        #expect(wire.received() == expected)
    }

    @Test(
        "Scattered publishes reach every id once before any again",
        arguments: [1, 2, 16, 97, 1_000])
    func scattered(count: Int) {
        let first = Int.random(in: 0..<count)
        let order = IDOrder(scattered: count, first: first)
        let round = (0..<count).map(order.index)
        #expect(Set(round) == Set(0..<count), "first \(first)")
        #expect((count..<2 * count).map(order.index) == round, "first \(first)")
        #expect(round[0] == first)
        if count > 16 {
            let near = zip(round, round.dropFirst()).count { abs($0 - $1) < count / 8 }
            #expect(near == 0, "first \(first)")
        }
    }

    @Test("A plan with a number of publishes ends after them")
    func publishCount() {
        var plan = RequestPlan(
            payloadCount: 20, purpose: .measuring, readPercent: 0, seed: 3, runStamp: 9,
            order: .scattered, publishCountMax: 40)
        var times: [Int: Int] = [:]
        var stamps: Set<UInt64> = []
        while let request = plan.next(now: 0) {
            times[request.index, default: 0] += 1
            stamps.insert(request.stamp)
        }
        #expect(times.count == 20 && times.values.allSatisfy { $0 == 2 })
        #expect(stamps.count == 40)
    }

    @Test("Reads and publishes come in the share that was asked for", arguments: [0, 25, 90, 100])
    func shares(percent: Int) {
        var plan = RequestPlan(payloads, readPercent: percent)
        var fetches = 0
        for _ in 0..<10_000 {
            if plan.next(now: 0)?.kind == .fetch { fetches += 1 }
        }
        #expect(abs(fetches - percent * 100) < 200, "\(fetches) of 10,000")
        if percent == 0 || percent == 100 { #expect(fetches == percent * 100) }
    }
}
