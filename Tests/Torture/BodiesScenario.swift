import ArgumentParser
import BlobClient
import BlobProtocol
import TestSupport

/// Thousands of bodies of which only a part comes, and batches that come slowly: do others still
/// publish?
struct BodiesScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "bodies",
        abstract: "Half-open bodies of every shape, and slow batches: do others still publish?",
        discussion: """
            Connections announce bodies, short and long, in chunks, in parts, in frames, and send \
            only some of them. Meanwhile others publish ten bytes each on connections of their own: \
            each is stored, or refused with 503, within a second, and 99 % within 100 ms. Then the \
            same beside batches of 8 MiB that are fed 4 KiB every 0.8 s. The daemon's own memory may \
            grow by what bodies may have (64 MiB), as much for input that waits, and a margin; \
            afterwards it is what it was, and a margin.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many half-open bodies. With --short: 600.")
    var bodies: Int?

    @Option(help: "How many slow batches. With --short: 20.")
    var batches: Int?

    @Option(help: "How many small publishes beside them. With --short: 60.")
    var publishes: Int?

    @Option(help: "What the daemon may need beside the 128 MiB, in MiB.")
    var marginMebibytes = 32

    var secondsMax: UInt32 { 300 }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let bodies = bodies ?? (options.short ? 600 : 2_000)
        let batches = batches ?? (options.short ? 20 : 200)
        try raiseDescriptorLimit(to: bodies + batches + 200)
        var daemon = try DaemonUnderTest.serving(
            bench, prefix: ["prlimit", "--nofile=\(bodies + batches + 4_000)"],
            arguments: [DaemonFlag.connections, "\(bodies + batches + 200)"])
        // What the first publishes need is not what is looked for.
        _ = try publish(20, at: daemon.socket, "first")
        let before = try ProcessFigures(of: daemon.pid).ownByteCount
        let watch = try MemoryWatch(daemon.pid)
        var figures: [String] = []

        var crowd = try HalfOpen.crowd(bodies, at: daemon.socket, seed: bench.seed)
        figures.append(
            "beside \(bodies) half-open bodies: "
                + judge(try publish(count, at: daemon.socket, "bodies")))
        // Long ones and documents as well.
        var connection = try daemon.connect()
        let long = [UInt8](repeating: 7, count: 300_000)
        try connection.put(PutRequest(id: "long"), long.span.bytes)
        try connection.call(.publish(NotificationUpload(id: "text", message: "m")))
        try require(crowd.count == bodies, "the crowd was not kept open")
        crowd = []

        let feeder = try SlowBatches(batches, at: daemon.socket)
        figures.append(
            "beside \(batches) slow batches: "
                + judge(try publish(count, at: daemon.socket, "batches")))
        try feeder.finish()

        try daemon.requireRunning("beside half-open bodies")
        let peak = try watch.finish()
        let budget = before + (64 + 64 + marginMebibytes) << 20
        try require(
            peak <= budget,
            "the daemon's own memory rose to \(mebibytes(peak)); the budget is \(mebibytes(budget))"
        )
        var after = 0
        let isBack = try Clock.wait(milliseconds: 15_000) {
            after = try ProcessFigures(of: daemon.pid).ownByteCount
            return after <= before + 16 << 20
        }
        try require(
            isBack,
            "the daemon's own memory was \(mebibytes(before)), and stays \(mebibytes(after))")
        try daemon.stop()
        try verify(bench, "after half-open bodies")
        return figures + [
            "own memory \(mebibytes(before)) before, at most \(mebibytes(peak)) beside, \(mebibytes(after)) after"
        ]
    }

    private var count: Int { publishes ?? (options.short ? 60 : 1_000) }

    /// What became of small publishes.
    private struct Outcomes {
        /// How long each that was stored took, in nanoseconds.
        var stored: [Int] = []
        var refused: [Int] = []
    }

    /// Publishes ten bytes each on a connection of its own.
    private func publish(_ count: Int, at path: String, _ name: String) throws -> Outcomes {
        var outcomes = Outcomes()
        for number in 0..<count {
            let begin = Clock.nanoseconds()
            let socket = try RawSocket.connect(to: path)
            var answer: [UInt8] = []
            let head =
                "PUT /v1/notifications/\(name)-\(number)/payload HTTP/1.1\r\nHost: b\r\n"
                + "Content-Type: image/png\r\nContent-Length: 10\r\n\r\n"
            // Every other one in two steps, as many clients send.
            var isOpen = try socket.sendAll(
                Array(head.utf8) + (number.isMultiple(of: 2) ? Array("0123456789".utf8) : []),
                answers: &answer)
            if !number.isMultiple(of: 2) {
                isOpen = try socket.sendAll(Array("0123456789".utf8), answers: &answer)
            }
            _ = isOpen
            _ = try socket.receive(into: &answer, milliseconds: 10_000) {
                HTTPClient.statusLine(of: $0) != nil
            }
            let elapsed = Clock.nanoseconds() - begin
            let status = HTTPClient.statusLine(of: answer)
            switch status {
            case 200, 201: outcomes.stored.append(elapsed)
            case 503: outcomes.refused.append(elapsed)
            default:
                throw TestFailure(
                    "publish \(number) was answered \(status.map(String.init) ?? "nothing")")
            }
            try require(
                options.short || elapsed <= 1_000_000_000,
                "publish \(number) was answered \(elapsed / 1_000_000) ms later")
        }
        try require(!outcomes.stored.isEmpty, "none of \(count) publishes was stored")
        try require(
            options.short || percentile(99, of: outcomes.stored) <= 100_000_000,
            "the 99th percentile of small publishes is \(percentile(99, of: outcomes.stored) / 1_000) µs"
        )
        return outcomes
    }

    private func judge(_ outcomes: Outcomes) -> String {
        let times = [50, 90, 99, 100].map {
            "\($0) %: \(percentile($0, of: outcomes.stored) / 1_000) µs"
        }
        return "\(outcomes.stored.count) publishes stored (\(times.joined(separator: ", "))), "
            + "\(outcomes.refused.count) refused"
    }
}

/// Connections that have each sent a part of a body.
private enum HalfOpen {
    static func crowd(_ count: Int, at path: String, seed: UInt64) throws -> [RawSocket] {
        var generator = SeededGenerator(seed: seed)
        return try (0..<count).map { number in
            let socket = try RawSocket.connect(to: path)
            let bytes = try half(number, &generator)
            // What is not taken at once is not sent: the daemon does not read a body that waits.
            var sent = 0
            while sent < bytes.count, case .moved(let moved) = socket.send(bytes, from: sent) {
                sent += moved
            }
            return socket
        }
    }

    /// A request whose body does not come whole.
    private static func half(
        _ number: Int, _ generator: inout SeededGenerator
    ) throws -> [UInt8] {
        let sent = [1, 9, 3_000, 60_000, 100_000, 180_000].randomElement(using: &generator) ?? 1
        let body = [UInt8](repeating: 0x20, count: sent)
        let host = "HTTP/1.1\r\nHost: b\r\n"
        func http(_ line: String, _ fields: String) -> [UInt8] {
            Array("\(line) \(host)\(fields)\r\n\r\n".utf8)
        }
        switch number % 7 {
        case 0: return http("PUT /v1/notifications/h/payload", "Content-Length: 10") + [0x31]
        case 1:
            return http("PUT /v1/notifications/h/payload", "Content-Length: \(sent + 1)") + body
        case 2:
            return http("PUT /v1/notifications/h/payload", "Content-Length: 60000000") + body
        case 3:
            return http("PUT /v1/notifications/h/payload", "Transfer-Encoding: chunked")
                + Array("FFFFFF\r\n".utf8) + body
        case 4:
            return http(
                "POST /v1/notifications",
                "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 60000000")
                + Array("--x\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n".utf8) + body
        case 5:
            return http(
                "POST /v1/notifications:batch",
                "Content-Type: application/x-ndjson\r\nContent-Length: 8000000") + body
        default:
            var frames = helloFrame
            let draft = Put.Draft(id: "h")
            try RequestFrame.compose(
                .put, flags: draft.flags, requestID: 2, bodyByteCount: UInt64(sent + 1),
                into: &frames
            ) { (out) throws(ProtocolError) in try draft.compose(into: &out) }
            return frames + body
        }
    }
}

/// Batches of 8 MiB that are fed 4 KiB every 0.8 s.
private struct SlowBatches {
    private let stop = StopSign()
    private let threads: Threads

    init(_ count: Int, at path: String) throws {
        let begun = Counts(1)
        let stop = stop
        threads = try Threads.start(1) { _ in
            let head =
                "POST /v1/notifications:batch HTTP/1.1\r\nHost: b\r\n"
                + "Content-Type: application/x-ndjson\r\nContent-Length: 8388608\r\n\r\n"
            let sockets = try (0..<count).map { _ in
                let socket = try RawSocket.connect(to: path)
                _ = socket.send(Array(head.utf8), from: 0)
                return socket
            }
            let piece = [UInt8](repeating: 0x20, count: 4_096)
            while !stop.isUp {
                for socket in sockets { _ = socket.send(piece, from: 0) }
                begun.set(0, 1)
                for _ in 0..<80 where !stop.isUp { Clock.pause(microseconds: 10_000) }
            }
        }
        let hasBegun = Clock.wait(milliseconds: 30_000) { begun.sum == 1 }
        try require(hasBegun, "the batches could not be begun")
    }

    func finish() throws {
        stop.putUp()
        try threads.join()
    }
}
