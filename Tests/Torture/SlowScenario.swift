import ArgumentParser
import BlobClient
import BlobProtocol
import Synchronization
import TestSupport

/// One client reads a byte a second while others replace and delete everything.
struct SlowScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "slow",
        abstract: "A client that reads one byte a second, under churn.",
        discussion: """
            The data file may not outgrow the live bytes by more than half and what is being \
            freed; the other clients' times are compared with those before the slow client \
            came; and what the slow client gets in the end, of a payload long deleted, is that \
            payload. Before that, one payload goes up and down with the daemon's memory \
            watched. The daemon runs without its own rule against slow clients.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How long the slow client reads, in seconds. With --short: 3.")
    var seconds: Int?

    @Option(help: "The size of the payload it reads. With --short: 5,000,000.")
    var bytes: Int?

    var secondsMax: UInt32 { UInt32(clamping: 180 + 2 * duration) }

    private var duration: Int { seconds ?? (options.short ? 3 : 60) }
    private var byteCount: Int { bytes ?? (options.short ? 5_000_000 : 50_000_000) }
    /// What may be on its way to being freed (two transactions), in bytes.
    private var allowance: Int { 128 << 20 }

    func torture(_ bench: inout Workbench) throws -> [String] {
        var daemon = try DaemonUnderTest.serving(bench, arguments: [DaemonFlag.rate, "0"])
        let payload = Payload(seed: bench.seed, byteCount: byteCount, kind: .noise)
        let memory = try upAndDown(payload, daemon)
        // Churn for itself, then churn beside the slow client.
        let alone = try churn(daemon, seconds: max(2, duration / 4), bench.seed) { _ in }
        let (_, fileBefore) = try sizes(daemon)
        let path = daemon.socket
        var slowBytes = 0
        let beside = try churn(daemon, seconds: duration, bench.seed &+ 1) { deadline in
            slowBytes = try readSlowly(payload, at: path, until: deadline)
        }
        try daemon.requireRunning("beside a slow client")
        let (live, file) = try sizes(daemon)
        let limit = live * 3 / 2 + byteCount + allowance
        try require(
            file <= limit,
            "the data file has \(mebibytes(file)) for \(mebibytes(live)) that live; "
                + "the limit is \(mebibytes(limit))"
        )
        try require(
            file <= fileBefore * 3 / 2 + byteCount + (32 << 20),
            "the data file grew from \(mebibytes(fileBefore)) to \(mebibytes(file))")
        let (p99, before) = (percentile(99, of: beside), percentile(99, of: alone))
        // Only what a person would notice counts as slowed down.
        try require(
            options.short || p99 <= max(10 * before, 100_000),
            "the others' 99th percentile went from \(before) µs to \(p99) µs")
        try daemon.stop()
        try verify(bench, "after the churn")
        return [
            "\(slowBytes) of \(byteCount) bytes read slowly, then the rest, all right",
            "others' 99th percentile \(before) µs without, \(p99) µs beside, \(beside.count) changes",
            "data file \(mebibytes(fileBefore)) without, \(mebibytes(file)) beside, "
                + "live \(mebibytes(live))",
            memory,
        ]
    }

    /// Sends a payload and fetches it. Returns words about the daemon's memory.
    private func upAndDown(
        _ payload: Payload, _ daemon: borrowing DaemonUnderTest
    ) throws -> String {
        let before = try ProcessFigures(of: daemon.pid).ownByteCount
        let watch = try MemoryWatch(daemon.pid)
        var connection = try daemon.connect()
        let bytes = payload.bytes()
        try connection.put(PutRequest(id: "slow", mediaType: payload.mediaType), bytes.span.bytes)
        let up = try watch.finish() - before
        let second = try MemoryWatch(daemon.pid)
        try require(
            try connection.get("slow").bytes == bytes, "the payload comes back with other bytes")
        let down = try second.finish() - before
        let limit = (64 + 32) << 20
        try require(
            max(up, down) <= limit,
            "one payload took \(mebibytes(max(up, down))) of memory; "
                + "the limit is \(mebibytes(limit))"
        )
        return "one up took \(mebibytes(up)) of memory, down \(mebibytes(down))"
    }

    // MARK: Churn

    /// Changes everything again and again while `meanwhile` runs on this thread. Returns how long
    /// each change took, in microseconds.
    private func churn(
        _ daemon: borrowing DaemonUnderTest, seconds: Int, _ seed: UInt64,
        meanwhile: (_ deadline: Int) throws -> Void
    ) throws -> [Int] {
        let times = Times()
        let (path, stop) = (daemon.socket, StopSign())
        let threads = try Threads.start(4) { index in
            var connection = try BlobConnection.connect(to: path)
            var generator = SeededGenerator(seed: seed, thread: index)
            while !stop.isUp {
                times.note(try change(&connection, index, using: &generator))
            }
        }
        let deadline = Clock.milliseconds() + seconds * 1_000
        let result = Result { try meanwhile(deadline) }
        while Clock.milliseconds() < deadline { Clock.pause(microseconds: 10_000) }
        stop.putUp()
        try threads.join()
        try result.get()
        return times.all()
    }

    /// Replaces a notification, or deletes it. Returns how long the daemon took, in microseconds.
    private func change(
        _ connection: inout BlobConnection, _ thread: Int, using generator: inout SeededGenerator
    ) throws -> Int {
        let number = Int.random(in: 0..<32, using: &generator)
        let id = "churn-\(thread)-\(number)"
        if generator.chance(15) {
            let begin = Clock.nanoseconds()
            try remove(id, &connection)
            return (Clock.nanoseconds() - begin) / 1_000
        }
        let payload = Payload.random(1_000...1_000_000, using: &generator)
        let bytes = payload.bytes()
        let request = PutRequest(id: id, mediaType: payload.mediaType, lifetime: .seconds(3_600))
        let begin = Clock.nanoseconds()
        try connection.put(request, bytes.span.bytes)
        return (Clock.nanoseconds() - begin) / 1_000
    }

    private func remove(_ id: String, _ connection: inout BlobConnection) throws {
        do throws(ClientError) {
            try connection.call(.delete(id))
        } catch {
            guard case .notFound = error else { throw error }
        }
    }

    private final class Times: Sendable {
        private let values = Mutex<[Int]>([])
        func note(_ microseconds: Int) { values.withLock { $0.append(microseconds) } }
        func all() -> [Int] { values.withLock { $0 } }
    }

    // MARK: The slow client

    /// Asks for the payload, reads a byte a second, then the rest, and compares all of it. Returns
    /// how many bytes it read slowly.
    private func readSlowly(
        _ payload: Payload, at path: String, until deadline: Int
    ) throws -> Int {
        let socket = try RawSocket.connect(to: path)
        let request = "GET /v1/notifications/slow/payload HTTP/1.1\r\nHost: b\r\n\r\n"
        var answer: [UInt8] = []
        _ = try socket.sendAll(Array(request.utf8), answers: &answer)
        while bodyStart(answer) == nil {
            try require(
                try receiveOne(socket, &answer), "the slow client was cut off in the head")
        }
        try require(
            HTTPClient.statusLine(of: answer) == 200, String(decoding: answer, as: UTF8.self))
        guard let start = bodyStart(answer) else { throw TestFailure("the head has no end") }
        // From here on nobody but this client wants the bytes.
        var other = try BlobConnection.connect(to: path)
        try other.call(.delete("slow"))
        while Clock.milliseconds() < deadline {
            Clock.pause(microseconds: 1_000_000)
            try require(
                try receiveOne(socket, &answer),
                "the slow client was cut off after \(answer.count - start) bytes")
        }
        let slowly = answer.count - start
        _ = try socket.receive(into: &answer) { $0.count >= start + payload.byteCount }
        try require(
            answer.count - start == payload.byteCount,
            "the slow client got \(answer.count - start) of \(payload.byteCount) bytes")
        let expected = payload.bytes()
        let differs = expected.indices.first { answer[start + $0] != expected[$0] }
        try require(
            differs == nil, "the slow client's bytes differ from position \(differs ?? 0) on")
        return slowly
    }

    private func receiveOne(_ socket: RawSocket, _ answer: inout [UInt8]) throws -> Bool {
        while true {
            switch socket.receive(into: &answer, limit: 1) {
            case .moved: return true
            case .gone: return false
            case .wouldBlock: try socket.wait(sending: false, milliseconds: 30_000, "slowly")
            }
        }
    }

    /// Where the body begins: after the first empty line.
    private func bodyStart(_ answer: [UInt8]) -> Int? {
        answer.suffix(4) == [13, 10, 13, 10] ? answer.count : nil
    }

    /// The live bytes as they are stored, and the data file's size.
    private func sizes(_ daemon: borrowing DaemonUnderTest) throws -> (live: Int, file: Int) {
        var connection = try daemon.connect()
        let statistics = try connection.call(.stats)
        guard let live = statistics.bytesStored, let file = statistics.fileBytes else {
            throw TestFailure("the daemon's stats say nothing of sizes")
        }
        return (Int(live), Int(file))
    }
}
