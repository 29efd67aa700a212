import ArgumentParser
import BlobClient
import BlobProtocol
import TestSupport

/// Lets a thousand clients wait for changes, and looks what that costs and who is woken.
struct WaitersScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "waiters",
        abstract: "Many clients wait for changes: what does it cost, and who is woken?",
        discussion: """
            Each waits for an owner of its own. While nothing happens the daemon may use 1 % of a \
            core. While a payload is replaced again and again, the file may not grow: it would if a \
            waiter held a snapshot, whose pages cannot be used again. Then each owner (with --short: \
            every tenth) gets a notification, and exactly its waiter hears of it.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many clients.")
    var clients = 1_000

    @Option(help: "How long they wait in quiet, in seconds. With --short: 1.")
    var seconds: Int?

    var secondsMax: UInt32 { 180 }

    func torture(_ bench: inout Workbench) throws -> [String] {
        try raiseDescriptorLimit(to: clients + 100)
        let daemon = try DaemonUnderTest.serving(
            bench, prefix: ["prlimit", "--nofile=\(clients + 3_000)"],
            arguments: [
                DaemonFlag.connections, "\(clients + 100)", DaemonFlag.heartbeat, "1h",
                DaemonFlag.grace, "0ms",
            ])
        var connection = try daemon.connect()
        var crowd = try Waiting.crowd(clients, at: daemon.socket)
        try require(
            try statistic("watchers", &connection) == clients,
            "not all of \(clients) clients are known to wait")

        let quiet = seconds ?? (options.short ? 1 : 10)
        let before = try ProcessFigures.processorMilliseconds(of: daemon.pid)
        Clock.pause(microseconds: quiet * 1_000_000)
        let used = try ProcessFigures.processorMilliseconds(of: daemon.pid) - before
        try require(
            options.short || used * 100 <= quiet * 1_000,
            "\(clients) waiting clients cost \(used) ms of a processor in \(quiet) s; the limit is 1 %"
        )

        let grown = try replace(&connection)
        let wakes = try statistic("feed_wakes", &connection)
        try require(wakes == 0, "\(wakes) were woken by what concerns none of them")

        let delays = try Waiting.hear(crowd, every: options.short ? 10 : 1, &connection)
        let woken = try statistic("feed_wakes", &connection)
        try require(
            woken == delays.count,
            "\(woken) wake-ups for \(delays.count) notifications of as many owners")
        crowd = []
        let left = try Clock.wait(milliseconds: 20_000) {
            try statistic("watchers", &connection) == 0
        }
        try require(left, "the daemon still counts waiters that have gone")
        return [
            "\(clients) waiting clients cost \(used) ms of a processor in \(quiet) s",
            "the file grew by \(mebibytes(grown)) while \(mebibytes(Self.replacedByteCount)) were replaced",
            "a client heard of its notification \(percentile(50, of: delays) / 1_000) us after it was asked for (median; 99 %: \(percentile(99, of: delays) / 1_000) us)",
        ]
    }

    private static let payloadByteCount = 1 << 20
    private static let replacedByteCount = 64 << 20
    private static let grownByteCountMax = 24 << 20

    /// Replaces a payload over and over. Returns by how much the file has grown, in bytes.
    private func replace(_ connection: inout BlobConnection) throws -> Int {
        let before = try statistic("file_bytes", &connection)
        for round in 0..<(Self.replacedByteCount / Self.payloadByteCount) {
            let bytes = [UInt8](repeating: UInt8(round & 255), count: Self.payloadByteCount)
            let request = PutRequest(id: "replaced", mediaType: "image/jpeg")
            _ = try connection.put(request, bytes.span.bytes)
        }
        let grown = try statistic("file_bytes", &connection) - before
        try require(
            grown <= Self.grownByteCountMax,
            "the file grew by \(mebibytes(grown)) while one payload was replaced: something holds old pages"
        )
        return grown
    }
}

/// Connections that watch, each for an owner of its own.
private enum Waiting {
    /// Opens them and reads the first answer of each, which has no change.
    static func crowd(_ count: Int, at path: String) throws -> [RawSocket] {
        try (0..<count).map { number in
            var request = helloFrame
            try RequestFrame.compose(.watch, requestID: 2, into: &request) {
                (out) throws(ProtocolError) in
                try Watch.Request.compose(
                    owner: owner(number), cursor: "latest", into: &out)
            }
            let socket = try RawSocket.connect(to: path)
            var answers: [UInt8] = []
            let isWhole =
                try socket.sendAll(request, answers: &answers)
                && socket.receive(into: &answers) { frames(in: $0).count == 2 }
            let answered = frames(in: answers)
            try require(
                isWhole && answered[1].status == 200, "client \(number) is not let wait")
            return socket
        }
    }

    private static func owner(_ number: Int) -> String { "owner \(number)" }

    /// The whole frames at the start of `bytes`, with their heads and bodies.
    private static func frames(in bytes: [UInt8]) -> [(status: UInt16, content: [UInt8])] {
        var frames: [(UInt16, [UInt8])] = []
        var rest = bytes[...]
        while let frame = try? ResponseFrame.parse(rest.span.bytes) {
            let count =
                Wire.frameHeaderByteCount + Int(frame.headByteCount)
                + Int(clamping: frame.bodyByteCount)
            guard rest.count >= count else { break }
            frames.append(
                (frame.status, Array(rest.prefix(count).dropFirst(Wire.frameHeaderByteCount))))
            rest = rest.dropFirst(count)
        }
        return frames
    }

    /// Publishes a notification for each owner, or only for one of so many. Its waiter must hear of it, and all others of
    /// nothing.
    ///
    /// - Returns: how long after it was asked for each was heard of, in nanoseconds.
    static func hear(
        _ crowd: [RawSocket], every step: Int, _ connection: inout BlobConnection
    ) throws -> [Int] {
        var delays: [Int] = []
        for number in stride(from: 0, to: crowd.count, by: step) {
            let start = Clock.nanoseconds()
            let request = PutRequest(
                id: "of \(number)", mediaType: "image/jpeg", owner: owner(number))
            _ = try connection.put(request, [UInt8(number & 255)].span.bytes)
            var bytes: [UInt8] = []
            let isOpen = try crowd[number].receive(into: &bytes) { !frames(in: $0).isEmpty }
            try require(isOpen, "client \(number) was closed")
            delays.append(Clock.nanoseconds() - start)
            let heard = frames(in: bytes)
            let text = String(decoding: heard[0].content.dropFirst(40), as: UTF8.self)
            try require(
                heard.count == 1 && heard[0].content.starts(with: [1, 0, 0, 0, 0])
                    && text.contains("\"id\":\"of \(number)\""),
                "client \(number) heard of something else: \(text)")
        }
        for (number, socket) in crowd.enumerated() {
            try require(!socket.hasInput(), "client \(number) heard more than its own")
        }
        return delays
    }
}
