import BlobClient
import BlobProtocol
import Glibc
import TestSupport

/// Publishes, replaces and deletes under ids of its own, at a pace that leaves the trace small, and
/// tells the ledger how long the trace was before and after.
struct CutPublisher: Sendable {
    /// What all publishers have in common.
    struct Surroundings: Sendable {
        let socket: String
        let trace: String
        let ledger: CutLedger
        let seed: UInt64
    }

    /// Ids that are used again and again.
    static let idCount = 24
    /// Bytes of most payloads, and of one in thirty.
    static let byteCounts = 200...40_960
    static let largeByteCounts = 250_000...330_000
    static let textByteCounts = 200...4_096
    /// Changes that are sent together at most.
    static let pipelineMax = 4
    /// Changes of a burst, and the bytes of each of its payloads.
    static let burstCount = 12
    static let burstByteCounts = 28_000...40_960

    let number: Int
    let surroundings: Surroundings

    /// Changes until told to stop or until the connection ends. Throws only when the daemon answers
    /// something wrong.
    func work(round: Int, until stop: StopSign) throws {
        guard var connection = try? BlobConnection.connect(to: surroundings.socket) else { return }
        var generator = SeededGenerator(seed: surroundings.seed, thread: number, round: round)
        var step = 0
        while !stop.isUp {
            do {
                try changeSome(&connection, round: round, step: step, using: &generator)
            } catch let error as ClientError {
                switch error {
                case .closed, .io, .noDaemon: return
                default: throw TestFailure("publisher \(number): \(error)")
                }
            }
            step += 1
            pause(using: &generator)
        }
    }

    /// All are quiet at the same time now and then, so that there are idle moments, too.
    private func pause(using generator: inout SeededGenerator) {
        let phase = Clock.milliseconds() % 250
        if phase >= 200 {
            Clock.pause(microseconds: (250 - phase) * 1_000)
        } else if generator.chance(80) {
            Clock.pause(microseconds: Int.random(in: 0...12_000, using: &generator))
        }
    }

    private func changeSome(
        _ connection: inout BlobConnection, round: Int, step: Int,
        using generator: inout SeededGenerator
    ) throws {
        var ids: [String: String?] = [:]
        var order: [String] = []
        // Now and then so many that the log has the places of their payloads.
        let isBurst = generator.chance(10)
        let wanted =
            isBurst
            ? Self.burstCount
            : generator.chance(60) ? 1 : Int.random(in: 1...Self.pipelineMax, using: &generator)
        for index in 0..<wanted {
            let isNew = generator.chance(10)
            let id =
                isNew
                ? "c\(number)-\(round)-\(step)-\(index)"
                : "c\(number)-\(Int.random(in: 0..<Self.idCount, using: &generator))"
            guard ids[id] == nil else { continue }
            ids[id] = .some(
                try queueChange(
                    of: id, isNew: isNew, isBurst: isBurst, &connection, using: &generator))
            order.append(id)
        }
        try connection.flush()
        for id in order { try take(try connection.receive().outcome, of: id) }
    }

    /// Sends a change. Returns the digest that it is to have.
    private func queueChange(
        of id: String, isNew: Bool, isBurst: Bool, _ connection: inout BlobConnection,
        using generator: inout SeededGenerator
    ) throws -> String? {
        let ledger = surroundings.ledger
        if !isNew, generator.chance(20) {
            ledger.willSend(nil, for: id, at: Trace.byteCount(at: surroundings.trace))
            _ = try connection.queueCall(.delete(id))
            return nil
        }
        let payload =
            isBurst
            ? Payload(
                seed: generator.next(),
                byteCount: Int.random(in: Self.burstByteCounts, using: &generator), kind: .noise)
            : Self.payload(using: &generator)
        let bytes = payload.bytes()
        let digest = payload.digest().description
        let expires = generator.chance(5)
        let request = PutRequest(
            id: id, mediaType: payload.mediaType, owner: "owner-\(number)",
            lifetime: .seconds(expires ? 1 : 86_400))
        ledger.willSend(
            digest, expires: expires, for: id, at: Trace.byteCount(at: surroundings.trace))
        _ = try connection.queuePut(request, bytes.span.bytes)
        return digest
    }

    /// Few that are compressed, and short ones: each image is inflated, too.
    private static func payload(using generator: inout SeededGenerator) -> Payload {
        if generator.chance(5) {
            let byteCount = generator.logarithmic(textByteCounts)
            return Payload(seed: generator.next(), byteCount: byteCount, kind: .text)
        }
        let sizes = generator.chance(3) ? largeByteCounts : byteCounts
        return Payload(
            seed: generator.next(), byteCount: generator.logarithmic(sizes), kind: .noise)
    }

    private func take(_ outcome: Answer.Outcome, of id: String) throws(TestFailure) {
        let place = Trace.byteCount(at: surroundings.trace)
        switch outcome {
        case .stored(let receipt):
            try surroundings.ledger.answered(receipt.digest.description, for: id, at: place)
        case .called, .failed(.notFound), .failed(.expired):
            try surroundings.ledger.answered(nil, for: id, at: place)
        default:
            throw TestFailure("publisher \(number): \(id) was answered with \(outcome)")
        }
    }
}
