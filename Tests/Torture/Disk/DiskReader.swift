import Synchronization
import TestSupport

/// A client that fetches what stays, one payload after the other, and notes how long each takes.
final class DiskReader: Sendable {
    private let socket: String
    private let keptCount: Int
    private let byteCount: Int
    private let seed: UInt64
    private let samples = Mutex<[Int]>([])
    private let total = Atomic<Int>(0)
    private let isStopped = Atomic<Bool>(false)

    /// Between two fetches, in microseconds: it is an idle daemon that is measured.
    private static let pauseMicroseconds = 500

    init(socket: String, keptCount: Int, byteCount: Int, seed: UInt64) {
        self.socket = socket
        self.keptCount = keptCount
        self.byteCount = byteCount
        self.seed = seed
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// The microseconds of each fetch since the last call.
    func take() -> [Int] {
        samples.withLock { samples in
            defer { samples = [] }
            return samples
        }
    }

    var count: Int { total.load(ordering: .relaxed) }

    /// Fetches until it is stopped. Throws for a wrong answer.
    func fetch(round: Int) throws {
        isStopped.store(false, ordering: .relaxed)
        let connection = try RawSocket.connect(to: socket)
        var generator = SeededGenerator(seed: seed, thread: 0, round: round)
        var answer: [UInt8] = []
        while !isStopped.load(ordering: .relaxed) {
            let id = DiskFilling.keptID(generator.below(keptCount))
            let request = Array(
                "GET /v1/notifications/\(id)/payload HTTP/1.1\r\nHost: b\r\n\r\n".utf8)
            answer.removeAll(keepingCapacity: true)
            var whole = Int.max
            let begin = Clock.nanoseconds()
            _ = try connection.sendAll(request, answers: &answer)
            _ = try connection.receive(into: &answer) { bytes in
                if whole == .max, let end = bytes.prefix(1_024).firstRange(of: Self.headEnd) {
                    whole = end.upperBound + byteCount
                }
                return bytes.count >= whole
            }
            let nanoseconds = Clock.nanoseconds() - begin
            let stamp = Array("\(round) \(id) ".utf8)
            try require(
                answer.count == whole && answer.starts(with: "HTTP/1.1 200".utf8)
                    && answer[(whole - byteCount)...].starts(with: stamp),
                "\(id) was answered with \(String(decoding: answer.prefix(200), as: UTF8.self))")
            samples.withLock { $0.append(nanoseconds / 1_000) }
            total.add(1, ordering: .relaxed)
            Clock.pause(microseconds: Self.pauseMicroseconds)
        }
    }

    private static let headEnd = Array("\r\n\r\n".utf8)
}
