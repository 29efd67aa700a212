import ArgumentParser
import BlobClient
import BlobProtocol
import Synchronization
import TestSupport

/// Says a million wrong things on both dialects, and looks whether the daemon is still itself.
struct GarbageScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "garbage",
        abstract: "A million messages that are random, mutated, or cut at every offset.",
        discussion: """
            Both dialects, many connections, pipelined where one wrong message does not end \
            the connection. What the daemon says must be answers of the dialect, and every \
            connection must be closed by it. At the end the same process answers, its memory \
            is back within 16 MiB of what it was after the first twentieth, and no descriptor \
            is left open.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many messages. With --short: 40,000.")
    var messages: Int?

    @Option(help: "How many connections at the same time.")
    var connections = 12

    @Option(help: "How much more memory it may have at the end, in MiB.")
    var marginMebibytes = 16

    var secondsMax: UInt32 { UInt32(clamping: 180 + count / 500) }

    private var count: Int { messages ?? (options.short ? 40_000 : 1_000_000) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        var daemon = try DaemonUnderTest.serving(bench)
        let idle = try ProcessFigures.descriptorCount(of: daemon.pid)
        let warm = try send(count / 20, bench, round: 0)
        try daemon.requireRunning("while it was warmed up")
        let before = try ProcessFigures(of: daemon.pid).ownByteCount
        let figures = try send(count - warm.seen, bench, round: 1)
        try daemon.requireRunning("while garbage was sent")
        try require(daemon.isAnswering(), "the daemon does not answer any more")
        try publishAndFetch(daemon)
        var open = 0
        let closed = try Clock.wait(milliseconds: 20_000) {
            open = try ProcessFigures.descriptorCount(of: daemon.pid)
            return open <= idle
        }
        try require(closed, "\(open) descriptors are open, \(idle) were at the start")
        let after = try ProcessFigures(of: daemon.pid).ownByteCount
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
                let answers = try converse(talk, at: socket)
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

    private func converse(_ talk: GarbageMaker.Conversation, at path: String) throws -> Int {
        let socket = try RawSocket.connect(to: path)
        var answers: [UInt8] = []
        if try socket.sendAll(talk.bytes, answers: &answers) { socket.finishSending() }
        do {
            _ = try socket.receive(into: &answers) { _ in false }
        } catch {
            throw TestFailure(
                "\(error), after \(quoted(talk.bytes)); it had said \(quoted(answers))")
        }
        return try countAnswers(answers, to: talk)
    }

    /// What came must be answers of the dialect that the first byte chose, the last one whole.
    private func countAnswers(
        _ answers: [UInt8], to talk: GarbageMaker.Conversation
    ) throws -> Int {
        guard let first = talk.bytes.first, !answers.isEmpty else {
            try require(answers.isEmpty, "the daemon speaks first: \(quoted(answers))")
            return 0
        }
        guard first == Wire.requestMagic else {
            try require(
                answers.starts(with: Array("HTTP/1.1 ".utf8)),
                "\(quoted(talk.bytes)) was answered with \(quoted(answers))")
            return String(decoding: answers, as: UTF8.self).split(separator: "HTTP/1.1 ").count
        }
        var offset = 0
        var count = 0
        while offset < answers.count {
            let bytes = answers.span.bytes
            guard let frame = try? ResponseFrame.parse(bytes.extracting(offset..<answers.count))
            else {
                throw TestFailure("\(quoted(talk.bytes)) was answered with \(quoted(answers))")
            }
            offset +=
                Wire.frameHeaderByteCount + Int(frame.headByteCount)
                + Int(clamping: frame.bodyByteCount)
            count += 1
        }
        try require(
            offset == answers.count, "the last answer to \(quoted(talk.bytes)) is not whole")
        return count
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
    private func quoted(_ bytes: [UInt8]) -> String {
        let shown = bytes.prefix(400).map { byte in
            switch byte {
            case 0x20...0x7E: String(UnicodeScalar(byte))
            default: "\\x" + String(byte, radix: 16)
            }
        }
        return "\"\(shown.joined())\"" + (bytes.count > 400 ? "… (\(bytes.count) bytes)" : "")
    }
}
