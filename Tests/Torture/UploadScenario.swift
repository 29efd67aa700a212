import ArgumentParser
import BlobClient
import Synchronization
import TestSupport

/// Lets many clients upload large payloads at the same time, and looks at the daemon's memory.
struct UploadScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "100 clients upload 50 MB each: is the daemon's memory bounded?",
        discussion: """
            A third of the clients speaks the binary protocol, a third HTTP with \
            Content-Length, a third HTTP in chunks; every fourth uploads what others upload \
            too. The daemon's own memory may grow by 64 MiB for bodies on their way, 64 MiB \
            for a transaction, and a margin. Afterwards every payload is fetched and compared \
            with its digest.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many clients. With --short: 8.")
    var clients: Int?

    @Option(help: "How many bytes each uploads. With --short: 5,000,000.")
    var bytes: Int?

    @Option(help: "What the daemon may need beside the 128 MiB, in MiB.")
    var marginMebibytes = 32

    var secondsMax: UInt32 { UInt32(clamping: 120 + clientCount * byteCount / 4_000_000) }

    private var clientCount: Int { clients ?? (options.short ? 8 : 100) }
    private var byteCount: Int { bytes ?? (options.short ? 5_000_000 : 50_000_000) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        var daemon = try DaemonUnderTest.serving(bench)
        let before = try ProcessFigures(of: daemon.pid).ownByteCount
        let watch = try MemoryWatch(daemon.pid)
        let begin = Clock.milliseconds()
        let (socket, seed) = (daemon.socket, bench.seed)
        let outcomes = Outcomes()
        try Threads.run(clientCount) { index in
            try outcomes.note(index, try upload(index, seed, to: socket))
        }
        let elapsed = max(1, Clock.milliseconds() - begin)
        let peak = try watch.finish()
        let most = try ProcessFigures(of: daemon.pid).residentByteCountMax
        try daemon.requireRunning("during the uploads")
        let budget = before + (64 + 64 + marginMebibytes) << 20
        try require(
            peak <= budget,
            "the daemon's own memory rose to \(mebibytes(peak)); the budget is \(mebibytes(budget))"
        )
        let stored = outcomes.stored()
        try require(!stored.isEmpty, "no upload was taken: \(outcomes.refusals())")
        try compare(stored, seed, at: socket)
        try daemon.stop()
        try verify(bench, "after the uploads")
        let rate = stored.count * byteCount / elapsed / 1_000
        return [
            "\(clientCount) clients with \(byteCount) bytes each, \(stored.count) stored",
            "refused: \(outcomes.refusals())",
            "\(rate) MB/s",
            "own memory \(mebibytes(before)), at most \(mebibytes(peak)), budget \(mebibytes(budget))",
            "resident at most \(mebibytes(most))",
        ]
    }

    /// What client number `index` uploads. Every fourth uploads one of two payloads that others do
    /// too.
    private func payload(_ index: Int, _ seed: UInt64) -> Payload {
        let isShared = index % 4 == 3
        return Payload(
            seed: seed &+ (isShared ? UInt64(index / 4 % 2) : UInt64(1_000 + index)),
            byteCount: byteCount, kind: index % 5 == 4 && !isShared ? .text : .noise)
    }

    /// Uploads and returns the status.
    private func upload(_ index: Int, _ seed: UInt64, to path: String) throws -> Int {
        let payload = payload(index, seed)
        let id = "upload-\(index)"
        switch index % 3 {
        case 0:
            return try HTTPClient.put(payload, id: id, framing: .contentLength, to: path).status
        case 1:
            return try HTTPClient.put(payload, id: id, framing: .chunked, to: path).status
        default:
            return try uploadBinary(payload, id, to: path)
        }
    }

    private func uploadBinary(_ payload: Payload, _ id: String, to path: String) throws -> Int {
        var options = BlobConnection.Options()
        options.timeoutMilliseconds = 300_000
        var connection = try BlobConnection.connect(to: path, options: options)
        let request = PutRequest(
            id: id, mediaType: payload.mediaType, lifetime: .seconds(3_600))
        var offset = 0
        do {
            let receipt = try connection.put(request, byteCount: UInt64(payload.byteCount)) {
                piece in
                let end = min(offset + 262_144, payload.byteCount)
                payload.append(offset..<end, to: &piece)
                offset = end
            }
            return receipt.isCreated ? 201 : 200
        } catch ClientError.refused(let problem) {
            return problem.status
        }
    }

    private func compare(_ stored: [Int], _ seed: UInt64, at path: String) throws {
        let count = 4
        try Threads.run(count) { part in
            var connection = try BlobConnection.connect(to: path)
            for (place, index) in stored.enumerated() where place % count == part {
                let expected = payload(index, seed).digest()
                // The connection compares the bytes with the digest of the answer.
                let info = try connection.get("upload-\(index)") { _, _ in }
                try require(
                    info.digest == expected,
                    "upload-\(index) has digest \(info.digest), not \(expected)")
            }
        }
    }

    private final class Outcomes: Sendable {
        private let statuses = Mutex<[Int: Int]>([:])

        /// Takes note of a status, which must be 201 or one that refuses for want of room.
        func note(_ index: Int, _ status: Int) throws(TestFailure) {
            try require(
                [201, 413, 429, 503, 507].contains(status), "upload \(index) was answered \(status)"
            )
            statuses.withLock { $0[index] = status }
        }

        func stored() -> [Int] {
            statuses.withLock { $0.filter { $0.value == 201 }.keys.sorted() }
        }

        func refusals() -> String {
            let counts = statuses.withLock { $0.values.filter { $0 != 201 } }
                .reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
            return counts.isEmpty
                ? "none"
                : counts.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(
                    separator: ", ")
        }
    }
}
