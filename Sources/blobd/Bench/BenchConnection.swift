/// One connection of a run: keeps a number of requests in flight, and checks each answer.
final class BenchConnection {
    private let socket: BenchSocket
    private let workload: BenchWorkload
    private let depth: Int
    private var answers: BenchAnswers
    private var generator: BenchGenerator
    /// Fetches are made once and sent again and again.
    private let fetches: [[UInt8]]

    /// Sent and not yet answered, oldest first: which payload, and when it was sent.
    private var inFlight: [(payload: Int, sentAt: UInt64)] = []
    private var inFlightStart = 0
    private var outgoing: [UInt8] = []
    private var outgoingOffset = 0
    /// The rest of a published body, straight from the pool.
    private var body: (payload: Int, offset: Int)?
    private var nextPublish: UInt64
    private let publishStep: UInt64
    private var awaitsOpening: Bool

    /// Microseconds from sending a request to its whole answer.
    var latencies: [UInt32] = []
    var isCounting = false

    var descriptor: Int32 { socket.descriptor }
    var wantsToSend: Bool { outgoingOffset < outgoing.count || body != nil }

    init(
        path: String, workload: BenchWorkload, fetches: [[UInt8]], depth: Int, index: Int,
        of count: Int
    ) throws {
        socket = try BenchSocket(path: path)
        self.workload = workload
        self.fetches = fetches
        self.depth = depth
        answers = BenchAnswers(workload.dialect)
        generator = BenchGenerator(seed: workload.seed &* 1_000 &+ UInt64(index))
        nextPublish = UInt64(index)
        publishStep = UInt64(count)
        outgoing = try workload.opening()
        awaitsOpening = !outgoing.isEmpty
    }

    private var inFlightCount: Int { inFlight.count - inFlightStart }

    /// Sends as much as the depth and the socket allow.
    func advance(now: UInt64) throws {
        while true {
            if outgoingOffset < outgoing.count {
                let count = try socket.send(outgoing, from: outgoingOffset)
                if count == 0 { return }
                outgoingOffset += count
                if outgoingOffset < outgoing.count { return }
            }
            if let (payload, offset) = body {
                let count = try socket.send(workload.payloads, payload, from: offset)
                if count == 0 { return }
                let byteCount = workload.payloads.byteCount
                body = offset + count < byteCount ? (payload, offset + count) : nil
                if body != nil { return }
            }
            outgoing.removeAll(keepingCapacity: true)
            outgoingOffset = 0
            guard inFlightCount < depth else { return }
            try compose(now: now)
        }
    }

    private func compose(now: UInt64) throws {
        if workload.publishes {
            let payload = Int(nextPublish % UInt64(workload.payloads.count))
            outgoing += try workload.publish(nextPublish)
            if workload.payloads.byteCount > workload.stampByteCount {
                body = (payload, workload.stampByteCount)
            }
            nextPublish += publishStep
            inFlight.append((payload, now))
            return
        }
        while inFlightCount < depth {
            let payload = Int.random(in: 0..<workload.payloads.count, using: &generator)
            outgoing += fetches[payload]
            inFlight.append((payload, now))
        }
    }

    /// Takes what has come. Returns how many answers were complete.
    func receive(into buffer: inout [UInt8]) throws -> Int {
        guard let count = try socket.receive(into: &buffer) else { return 0 }
        let input = buffer.span.bytes.extracting(first: count)
        var offset = 0
        var completed = 0
        while offset < count {
            guard try take(input, &offset) else { break }
            completed += 1
        }
        if inFlightStart > 256 {
            inFlight.removeFirst(inFlightStart)
            inFlightStart = 0
        }
        return completed
    }

    /// Takes one answer; false when it is not whole yet.
    private func take(_ input: RawSpan, _ offset: inout Int) throws -> Bool {
        if awaitsOpening {
            let event = try answers.take(
                input, from: &offset, expecting: nil, of: workload.payloads)
            guard case .answer = event else { return false }
            awaitsOpening = false
            return offset < input.byteCount ? try take(input, &offset) : false
        }
        guard inFlightCount > 0 else { throw BenchFailure("an answer nobody asked for came") }
        let event = try answers.take(
            input, from: &offset,
            expecting: workload.publishes ? nil : inFlight[inFlightStart].payload,
            of: workload.payloads)
        guard case .answer(let status) = event else { return false }
        guard status == 200 || status == 201 else {
            throw BenchFailure("the server answered \(status)")
        }
        if isCounting {
            let nanoseconds = monotonicNanoseconds() - inFlight[inFlightStart].sentAt
            latencies.append(UInt32(clamping: nanoseconds / 1_000))
        }
        inFlightStart += 1
        return true
    }
}
