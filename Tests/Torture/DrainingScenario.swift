import ArgumentParser
import BlobClient
import Glibc
import TestSupport

/// Thousands of clients ask for a long payload and do not read it: they are given up, what they were
/// sent stays as it is, and others are served.
struct DrainingScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "draining",
        abstract: "Clients that ask and do not read: who keeps a place, and what is kept for them?",
        discussion: """
            All of a daemon's places are taken by clients that ask for 2 MiB and read nothing. When \
            they have been given up, others are served; those that were sent pages of the file drain, \
            and there are no more of them than the daemon's limit. The payload is deleted and its \
            pages are wanted for others; then each client reads what it was sent, and every byte is \
            compared. Afterwards nothing drains, and descriptors and memory are what they were.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many clients. With --short: 150.")
    var connections: Int?

    @Option(help: "How many bytes each asks for.")
    var bytes = 2 << 20

    @Option(help: "How many sockets may drain: the daemon's limit for one user.")
    var drainingMax = 1_024

    var secondsMax: UInt32 { 300 }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let count = connections ?? (options.short ? 150 : 8_192)
        try raiseDescriptorLimit(to: count + 200)
        var daemon = try DaemonUnderTest.serving(
            bench, prefix: ["prlimit", "--nofile=\(count + 4_000)"],
            arguments: [
                DaemonFlag.connections, "\(count)", DaemonFlag.rate, "1MiB",
                DaemonFlag.rateWindow, "1s",
            ])
        let payload = Payload(seed: bench.seed, byteCount: bytes, kind: .noise)
        let stored = try HTTPClient.put(
            payload, id: "big", framing: .contentLength, to: daemon.socket)
        try require(stored.status == 201, "the payload was answered \(stored.status)")
        let before = try ProcessFigures(of: daemon.pid).ownByteCount
        let descriptors = try ProcessFigures.descriptorCount(of: daemon.pid)
        var clients = try DeafClients(count, at: daemon.socket)
        // It has no place before others have been given up.
        let begin = Clock.milliseconds()
        var connection = try daemon.connect()
        let waited = Clock.milliseconds() - begin
        let given = try Clock.wait(milliseconds: 60_000) {
            try Self.number("connections", &connection) == 1
        }
        try require(given, "clients that do not read keep their places")
        let draining = try Self.number("draining", &connection)
        try require(
            draining > 0 && draining <= drainingMax,
            "\(draining) drain; the limit is \(drainingMax)")
        let during = try ProcessFigures(of: daemon.pid).ownByteCount

        try connection.delete("big")
        for round in 0..<48 {
            let other = Payload(
                seed: bench.seed &+ UInt64(1 + round), byteCount: bytes, kind: .noise)
            let answer = try HTTPClient.put(
                other, id: "other-\(round % 4)", framing: .contentLength, to: daemon.socket)
            try require(answer.status < 300, "a publish was answered \(answer.status)")
        }
        let read = try clients.readAll(payload)
        clients.close()
        let isOver = try Clock.wait(milliseconds: 30_000) {
            try Self.number("draining", &connection) == 0
                && Self.number("leases", &connection) == 0
                && ProcessFigures.descriptorCount(of: daemon.pid) <= descriptors + 4
        }
        try require(isOver, "sockets drain although everything has been read")
        let after = try ProcessFigures(of: daemon.pid).ownByteCount
        try require(
            after <= before + 32 << 20,
            "the daemon's own memory was \(mebibytes(before)), and stays \(mebibytes(after))")
        try daemon.stop()
        try verify(bench, "after draining")
        return [
            "\(count) clients that do not read, another served after \(waited) ms",
            "\(draining) drained", "\(mebibytes(read)) of what they were sent compared",
            "own memory \(mebibytes(before)) before, \(mebibytes(during)) beside, \(mebibytes(after)) after",
        ]
    }

    private static func number(
        _ name: String, _ connection: inout BlobConnection
    ) throws -> Int {
        let text = String(decoding: try connection.statsDocument(), as: UTF8.self)
        guard let start = text.firstRange(of: "\"\(name)\":"),
            let number = Int(text[start.upperBound...].prefix { $0.isNumber })
        else { throw TestFailure("no \(name) in \(text)") }
        return number
    }
}

/// Clients that have asked for a payload and read nothing.
private struct DeafClients: ~Copyable {
    private var descriptors: [Int32] = []

    init(_ count: Int, at path: String) throws {
        let request = Array("GET /v1/notifications/big/payload HTTP/1.1\r\nHost: b\r\n\r\n".utf8)
        descriptors.reserveCapacity(count)
        for _ in 0..<count {
            let socket = try RawSocket.connect(to: path)
            _ = socket.send(request, from: 0)
            descriptors.append(dup(socket.descriptor))
        }
    }

    /// Reads what each was sent, up to its end, and compares it with the start of the payload.
    ///
    /// - Returns: how many bytes that was.
    mutating func readAll(_ payload: Payload) throws -> Int {
        var expected: [UInt8] = []
        payload.append(0..<payload.byteCount, to: &expected)
        var total = 0
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        for (number, descriptor) in descriptors.enumerated() {
            let flags = fcntl(descriptor, F_GETFL)
            _ = fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK)
            var head: [UInt8] = []
            var isInBody = false
            var position = 0
            while true {
                var count = recv(descriptor, &buffer, buffer.count, 0)
                if count <= 0 { break }
                var start = 0
                if !isInBody {
                    head += buffer.prefix(min(count, 2_048))
                    guard let end = head.firstRange(of: Array("\r\n\r\n".utf8)) else { continue }
                    // All of a head comes at once.
                    start = end.upperBound
                    count -= start
                    isInBody = true
                }
                let isRight =
                    position + count <= expected.count
                    && buffer.withUnsafeBytes { got in
                        expected.withUnsafeBytes { wanted in
                            memcmp(got.baseAddress! + start, wanted.baseAddress! + position, count)
                                == 0
                        }
                    }
                try require(isRight, "client \(number) got wrong bytes behind \(position)")
                position += count
            }
            total += position
        }
        return total
    }

    /// Closes all.
    consuming func close() {}

    deinit {
        for descriptor in descriptors { Glibc.close(descriptor) }
    }
}
