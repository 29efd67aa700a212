import ArgumentParser
import BlobClient
import Bytes
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
        var clients = try deafClients(count, at: daemon.socket)
        // It has no place before others have been given up.
        let begin = Clock.milliseconds()
        var connection = try daemon.connect()
        let waited = Clock.milliseconds() - begin
        let given = try Clock.wait(milliseconds: 60_000) {
            try statistic("connections", &connection) == 1
        }
        try require(given, "clients that do not read keep their places")
        let draining = try statistic("draining", &connection)
        try require(
            draining > 0 && draining <= drainingMax,
            "\(draining) drain; the limit is \(drainingMax)")
        let during = try ProcessFigures(of: daemon.pid).ownByteCount

        try connection.call(.delete("big"))
        for round in 0..<48 {
            let other = Payload(
                seed: bench.seed &+ UInt64(1 + round), byteCount: bytes, kind: .noise)
            // On a busy machine a body may come too slowly for the rate that is asked of all here.
            let isStored = try Clock.wait(milliseconds: 60_000) {
                let answer = try HTTPClient.put(
                    other, id: "other-\(round % 4)", framing: .contentLength, to: daemon.socket)
                try require(
                    answer.status < 300 || answer.status == 408,
                    "a publish was answered \(answer.status)")
                return answer.status < 300
            }
            try require(isStored, "no publish is fast enough")
        }
        let read = try readAll(of: clients, payload)
        clients = []
        // On a busy machine that took longer than a daemon keeps a connection without requests.
        connection = try daemon.connect()
        let isOver = try Clock.wait(milliseconds: 30_000) {
            try statistic("draining", &connection) == 0
                && statistic("leases", &connection) == 0
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

    /// Clients that have asked for a payload and read nothing.
    private func deafClients(_ count: Int, at path: String) throws -> [RawSocket] {
        let request = Array("GET /v1/notifications/big/payload HTTP/1.1\r\nHost: b\r\n\r\n".utf8)
        return try (0..<count).map { _ in
            let socket = try RawSocket.connect(to: path)
            _ = socket.send(request, from: 0)
            return socket
        }
    }

    /// Reads what each was sent, up to its end, and compares it with the start of the payload.
    ///
    /// - Returns: how many bytes that was.
    private func readAll(of clients: [RawSocket], _ payload: Payload) throws -> Int {
        let expected = payload.bytes()
        var total = 0
        for (number, socket) in clients.enumerated() {
            var answer: [UInt8] = []
            _ = try socket.receive(into: &answer) { _ in false }
            guard let head = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { continue }
            let body = answer[head.upperBound...]
            try require(
                body.count <= expected.count
                    && body.span.bytes.equals(expected.span.bytes.extracting(first: body.count)),
                "client \(number) got wrong bytes")
            total += body.count
        }
        return total
    }
}
