import BlobClient
import Glibc
import TestSupport

/// Publishes the payloads of a round: a tenth that stays, and nine that expire at one moment.
struct DiskFilling {
    let socket: String
    let byteCount: Int
    let keptCount: Int
    private let expiringCount: Int
    private static let publisherCount = 8
    private static let unansweredMax = 8

    init(socket: String, payloadCount: Int, byteCount: Int) {
        self.socket = socket
        self.byteCount = byteCount
        keptCount = max(1, payloadCount / 10)
        expiringCount = payloadCount - keptCount
    }

    static func keptID(_ number: Int) -> String { "kept-\(number)" }

    /// Publishes them all.
    ///
    /// - Returns: the moment of expiry, in milliseconds since 1970, at least `quietMilliseconds` away
    ///   unless the disk has got slower.
    func fill(round: Int, quietMilliseconds: Int) throws -> Int {
        let begin = Clock.milliseconds()
        try publish(keptCount, round: round, untilMilliseconds: DiskScenario.now() + 3_600_000) {
            Self.keptID($0)
        }
        // The others take about nine times as long.
        let estimate = (Clock.milliseconds() - begin) * 13 * expiringCount / keptCount / 10
        let moment = DiskScenario.now() + estimate + quietMilliseconds + 200
        try publish(expiringCount, round: round, untilMilliseconds: moment) { "\(round)-\($0)" }
        let rest = moment - quietMilliseconds - DiskScenario.now()
        if rest > 0 { Clock.pause(microseconds: rest * 1_000) }
        return moment
    }

    private func publish(
        _ count: Int, round: Int, untilMilliseconds moment: Int,
        _ id: @escaping @Sendable (Int) -> String
    ) throws {
        let (socket, byteCount) = (socket, byteCount)
        try Threads.run(Self.publisherCount) { thread in
            var connection = try BlobConnection.connect(to: socket)
            var bytes = SeededGenerator.bytes(byteCount, seed: UInt64(thread + 1))
            var unanswered = 0
            for number in stride(from: thread, to: count, by: Self.publisherCount) {
                // No two payloads have the same bytes.
                Self.stamp(&bytes, round, id(number))
                // One that comes late expires at once.
                let until = max(moment, DiskScenario.now() + 1_000)
                let request = PutRequest(
                    id: id(number), mediaType: "image/jpeg",
                    lifetime: .until(milliseconds: Int64(until)))
                _ = try connection.queuePut(request, bytes.span.bytes)
                unanswered += 1
                guard unanswered == Self.unansweredMax else { continue }
                try connection.flush()
                try Self.receive(&unanswered, &connection)
            }
            try connection.flush()
            try Self.receive(&unanswered, &connection)
        }
    }

    private static func receive(_ count: inout Int, _ connection: inout BlobConnection) throws {
        for _ in 0..<count {
            let outcome = try connection.receive().outcome
            guard case .stored = outcome else {
                throw TestFailure("a publish was answered with \(outcome)")
            }
        }
        count = 0
    }

    /// Begins a payload with its round and its id.
    static func stamp(_ bytes: inout [UInt8], _ round: Int, _ id: String) {
        let words = Array("\(round) \(id) ".utf8)
        bytes.replaceSubrange(0..<words.count, with: words)
    }
}
