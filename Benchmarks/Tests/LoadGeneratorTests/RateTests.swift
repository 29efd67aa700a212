import Testing

@testable import LoadGenerator

/// Coordinated omission: a server that stalls must not keep the requests from being counted that
/// would have come meanwhile. The clock is the test's.
@Suite struct RateTests {
    private let payloads: LoadPayloads

    init() throws { payloads = try LoadPayloads(.fixed(100), count: 20, seed: 5) }

    /// One connection, one in flight, a request due every 10 ns from 1,000 on. The server stalls
    /// once for 100 ns and answers everything else after 1 ns.
    @Test("The wait behind a stall counts, for every request that was due during it")
    func stall() throws {
        let wire = Wire()
        let schedule = RateSchedule(rate: 1e8, start: 1_000)
        var driven = try DrivenConnection(
            payloads, RequestPlan(payloads, schedule: schedule), on: wire, depth: 1)
        var now: Int64 = 1_000
        func step(_ driven: inout DrivenConnection, answerAfter wait: Int64) throws {
            try driven.send(now: now, limit: 1)
            let line = String(decoding: wire.received(), as: UTF8.self)
            let index = try #require(Int(line.dropLast().split(separator: "-").last ?? ""))
            now += wait
            wire.send(lineAnswer(bytes(payloads, index)))
            try driven.receive(now: now)
        }
        try step(&driven, answerAfter: 100)
        // Eleven are due by 1,100; the first took 100. The next was due at 1,010 and is sent at
        // 1,100, and so on; the backlog shrinks by 9 ns a request until it is gone.
        var expected: [Int64] = [100]
        for number in 1...20 {
            let due = 1_000 + Int64(number) * 10
            if now < due { now = due }
            try step(&driven, answerAfter: 1)
            expected.append(now - due)
        }
        #expect(expected[1] == 91 && expected[2] == 82 && expected[20] == 1)
        let record = driven.record
        #expect(record.requestCount == 21)
        #expect(record.latencies.maximum == 100 && record.latencies.minimum == 1)
        // To the nanosecond: the mean is exact.
        let mean = Double(expected.reduce(0, +)) / 21
        #expect(record.latencies.mean == mean)
        // A clock that counted from the sending would have found a median of 1.
        #expect(record.latencies.percentile(50) == UInt64(expected.sorted()[10]))
        #expect(record.latencies.percentile(50) > 1)
    }

    @Test("Nothing is sent before it is due, and what is due and has no room waits")
    func due() throws {
        let wire = Wire()
        let schedule = RateSchedule(rate: 1e9 / 50, start: 100)
        var driven = try DrivenConnection(
            payloads, RequestPlan(payloads, schedule: schedule), on: wire, depth: 2)
        try driven.send(now: 99)
        #expect(wire.received().isEmpty)
        try driven.send(now: 100)
        #expect(driven.connection.inFlight.count == 1)
        try driven.send(now: 500)
        #expect(driven.connection.inFlight.count == 2)
        #expect(driven.connection.inFlight.request(1).intendedAt == 150)
        // 100 … 450 were due before 500, of which two were taken.
        #expect(driven.plan.schedule?.overdueCount(at: 500) == 6)
        #expect(driven.plan.schedule?.overdueCount(at: 501) == 7)
        #expect(driven.plan.schedule?.nextDue == 200)
    }

    @Test("A request without an answer counts with the time it has waited, and is never the least")
    func unanswered() {
        var record = LoadRecord()
        record.addUnanswered(.fetch, nanoseconds: 5)
        #expect(record.latencies.count == 0)
        record.isCounting = true
        record.add(.fetch, nanoseconds: 40, byteCount: 1)
        record.addUnanswered(.fetch, nanoseconds: 900)
        record.addUnanswered(.publish, nanoseconds: 3)
        #expect(record.requestCount == 1)
        #expect(record.latencies.count == 3)
        #expect(record.latencies.minimum == 40 && record.latencies.maximum == 900)
    }

    @Test("A rate is reached when at most one in a hundred is missing, or a single one")
    func reached() {
        func isReached(_ asked: Double, _ requests: Int) -> Bool {
            RateFigures(asked: asked, requests: requests, seconds: 2, unanswered: 0).isReached
        }
        #expect(isReached(1_000, 2_000) && isReached(1_000, 1_980))
        #expect(!isReached(1_000, 1_970))
        #expect(isReached(2, 3) && !isReached(2, 2))
    }

    @Test("A percentile is never too low, and at most a thousandth too high")
    func buckets() {
        let edges: [UInt64] = (0...40).flatMap { bit in
            [1 << bit, (1 << bit) + 1, (2 << bit) - 1]
        }
        for number in edges + [0, 1_000_003] {
            var histogram = Histogram(max: LatencyRecord.nanosecondsMax)
            histogram.add(number)
            let found = histogram.percentile(50)
            #expect(found >= number && found - number <= number / 1_024, "\(number): \(found)")
            #expect(number >= 2_048 || found == number)
        }
    }
}
