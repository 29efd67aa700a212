import BlobClient
import BlobProtocol
import Synchronization
import TestSupport

/// Says a million wrong things on both dialects, and looks whether the daemon is still itself.
struct GarbageScenario: Scenario {
    static let about = About(
        "garbage", "A million messages that are random, mutated, or cut at every offset.",
        """
        Both dialects, many connections, pipelined where one wrong message does not end the connection. What the
        daemon says must be whole answers, no failures of its own, and every connection must be closed by it. At the
        end the same process answers, its memory is back within 16 MiB of what it was after the first twentieth, and
        no descriptor is left open.
        """)

    @Setting(1_000_000, short: 40_000, "How many messages.") var messages: Int
    @Setting(12, "How many connections at the same time.") var connections: Int
    @Setting(16, "How much more memory it may have at the end, in MiB.") var marginMebibytes: Int

    /// A worker opens descriptors when it starts, which may be after the daemon is ready. One that has answered has
    /// started, and connections are shared among all.
    private func descriptorCount(ofIdle daemon: borrowing DaemonUnderTest) throws -> Int {
        let sockets = try (0..<8).map { _ in try RawSocket.connect(to: daemon.socket) }
        for socket in sockets {
            try require(try socket.ask(helloFrame).status == 200, "hello was not answered 200")
        }
        return try ProcessFigures.descriptorCount(of: daemon.pid) - sockets.count
    }

    func torture(_ bench: inout Workbench) throws -> [String] {
        var daemon = try DaemonUnderTest.serving(bench)
        let idle = try descriptorCount(ofIdle: daemon)
        let warm = try send(messages / 20, bench, round: 0)
        try daemon.requireRunning("while it was warmed up")
        let before = try ProcessFigures.ownByteCount(of: daemon.pid)
        let figures = try send(messages - warm.seen, bench, round: 1)
        try daemon.requireRunning("while garbage was sent")
        try require(daemon.isAnswering(), "the daemon does not answer any more")
        try publishAndFetch(daemon)
        var open = 0
        // One connection for all looks: on a busy machine that of the last look may still be open.
        var connection = try daemon.connect()
        try Clock.wait(
            milliseconds: 120_000,
            orThrow: "\(open) descriptors are open, \(idle) were at the start"
        ) {
            guard try statistic("body_memory_bytes", &connection) == 0 else { return false }
            // This connection is one of them, and the thread that scrubs may have opened data.mdb since: on a busy
            // machine it first runs late, at idle priority.
            open = try ProcessFigures.descriptorCount(of: daemon.pid) - 2
            return open <= idle
        }
        let after = try ProcessFigures.ownByteCount(of: daemon.pid)
        let grown = after - before
        try require(
            grown <= marginMebibytes << 20,
            "the daemon's memory grew from \(mebibytes(before)) to \(mebibytes(after))")
        try daemon.stop()
        try verify(bench, "after the garbage")
        return [
            "\(warm.seen + figures.seen) messages looked at, \(warm.sent + figures.sent) sent",
            "\(warm.connections + figures.connections) connections",
            "\(warm.answers + figures.answers) answers",
            "memory \(mebibytes(before)) after the first twentieth, \(mebibytes(after)) at the end",
            "\(open) descriptors open, \(idle) before",
        ]
    }

    private struct Figures: Sendable {
        var sent = 0
        /// Those that the daemon has looked at: the answered ones, and the one behind them.
        var seen = 0
        var answers = 0
        var connections = 0
    }

    private func send(
        _ wanted: Int, _ bench: borrowing Workbench, round: Int
    ) throws -> Figures {
        let (seed, socket) = (bench.seed, bench.socket)
        let total = Total()
        let cuts = GarbageMaker.Cuts()
        try Threads.run(connections) { index in
            var maker = try GarbageMaker(
                generator: SeededGenerator(seed: seed, thread: index, round: round),
                cuts: cuts)
            while total.value.withLock({ $0.seen }) < wanted {
                let talk = maker.next()
                let answers = try Self.converse(talk, at: socket)
                total.value.withLock {
                    $0.sent += talk.messageCount
                    // What comes behind the message that ended the connection was never looked at.
                    $0.seen += min(talk.messageCount, answers + 1)
                    $0.answers += answers
                    $0.connections += 1
                }
            }
        }
        return total.value.withLock { $0 }
    }

    private final class Total: Sendable {
        let value = Mutex(Figures())
    }

    private static func converse(_ talk: GarbageMaker.Conversation, at path: String) throws -> Int {
        let socket = try RawSocket.connect(to: path)
        var answers: [UInt8] = []
        if try socket.sendAll(talk.bytes, answers: &answers) { socket.finishSending() }
        do {
            _ = try socket.receive(into: &answers) { _ in false }
            return try countAnswers(answers, to: talk)
        } catch {
            throw TestFailure(
                "\(error), after \(quoted(talk.bytes)); it had said \(quoted(answers))")
        }
    }

    /// What came must be whole answers as `docs/PROTOCOL.md` has them: refusals say why, and the daemon is never to
    /// blame. Bytes that begin no dialect are told so.
    private static func countAnswers(_ bytes: [UInt8], to talk: GarbageMaker.Conversation) throws
        -> Int
    {
        guard let answers = try WholeAnswer.all(in: bytes, toHEAD: true) else {
            throw TestFailure("the last answer is cut short")
        }
        let codes = try answers.map { try $0.problemCode() }
        guard let first = talk.bytes.first else {
            try require(answers.isEmpty, "the daemon speaks first")
            return 0
        }
        if !answers.isEmpty, Dialect(firstByte: first) == .unknown {
            try require(codes == ["malformed"], "bytes of no dialect are answered \(codes)")
        }
        try require(
            answers.allSatisfy { $0.status < 500 || [501, 505].contains($0.status) },
            "the daemon says that it failed: \(codes)")
        return answers.count
    }

    private func publishAndFetch(_ daemon: borrowing DaemonUnderTest) throws {
        var connection = try daemon.connect()
        let payload = Payload(seed: 1, byteCount: 3_000_000, kind: .noise)
        let bytes = payload.bytes()
        try connection.put(PutRequest(id: "after"), bytes.span.bytes)
        try require(
            try connection.get("after").bytes == bytes, "what is published now comes back wrong")
    }

    /// The first bytes as a string literal shows them.
    private static func quoted(_ bytes: [UInt8]) -> String {
        let shown = bytes.prefix(400).map { byte in
            switch byte {
            case 0x20...0x7E: String(UnicodeScalar(byte))
            default: "\\x" + String(byte, radix: 16)
            }
        }
        return "\"\(shown.joined())\"" + (bytes.count > 400 ? "… (\(bytes.count) bytes)" : "")
    }
}
