import BlobClient
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
        var connection = try BlobConnection.connect(to: socket)
        var generator = SeededGenerator(seed: seed, thread: 0, round: round)
        while !isStopped.load(ordering: .relaxed) {
            let id = DiskFilling.keptID(generator.below(keptCount))
            let begin = Clock.nanoseconds()
            let bytes = try connection.get(id).bytes
            let nanoseconds = Clock.nanoseconds() - begin
            try require(
                bytes.count == byteCount && bytes.starts(with: "\(round) \(id) ".utf8),
                "\(id) has \(bytes.count) bytes that are not its own")
            samples.withLock { $0.append(nanoseconds / 1_000) }
            total.add(1, ordering: .relaxed)
            Clock.pause(microseconds: Self.pauseMicroseconds)
        }
    }
}
