import BlobClient
import BlobProtocol
import Synchronization
import TestSupport

/// Publishes, replaces and deletes under ids that are its own, and keeps the ledger of what the
/// daemon acknowledged.
///
/// A change that was sent and not answered may have happened or not. Until it is known, both count
/// as right; afterwards what was found holds.
final class Publisher: Sendable {
    /// What a notification may look like.
    private enum Content: Sendable, Equatable {
        case absent
        case payload(PayloadDigest)
    }

    private struct Entry: Sendable {
        var acknowledged: Content
        /// The change that is under way, or whose answer never came.
        var pending: Content?
        /// The round of the last change.
        var round: Int
    }

    private struct Ledger: Sendable {
        var entries: [String: Entry] = [:]
        var acknowledgedCount = 0
    }

    /// What every publisher has in common.
    struct Plan: Sendable {
        /// Publishers that are at work.
        var publisherCount = 16
        /// Ids that each has for its own.
        var idCount = 60
        /// Sizes of payloads.
        var byteCounts = 100...2_000_000
        /// Changes that are sent together at most.
        var pipelineMax = 4
        /// Whether each waits for the bucket.
        var awaitsReplication = false
        /// Payloads that several publishers publish.
        var shared: [(payload: Payload, digest: PayloadDigest)] = []
    }

    private let number: Int
    private let plan: Plan
    private let ledger = Mutex(Ledger())

    init(number: Int, plan: Plan) {
        self.number = number
        self.plan = plan
    }

    /// Publishers for a plan, to which shared payloads are added.
    static func crowd(_ plan: Plan, using generator: inout SeededGenerator) -> [Publisher] {
        var plan = plan
        plan.shared = (0..<8).map { _ in
            let payload = Payload.random(plan.byteCounts, using: &generator)
            return (payload, payload.digest())
        }
        return (0..<plan.publisherCount).map { Publisher(number: $0, plan: plan) }
    }

    /// How many changes the daemon has acknowledged.
    var acknowledgedCount: Int { ledger.withLock { $0.acknowledgedCount } }

    // MARK: Changing

    /// Changes until the connection ends. Throws only when the daemon answers something wrong.
    func work(at socket: String, seed: UInt64, round: Int, until stop: StopSign) throws {
        guard var connection = try? BlobConnection.connect(to: socket) else { return }
        connection.awaitsReplication = plan.awaitsReplication
        var generator = SeededGenerator(seed: seed, thread: number, round: round)
        while !stop.isUp {
            do {
                try changeSome(&connection, round: round, using: &generator)
            } catch let error as ClientError {
                switch error {
                case .closed, .io, .noDaemon: return
                default: throw TestFailure("publisher \(number): \(error)")
                }
            }
        }
    }

    private func changeSome(
        _ connection: inout BlobConnection, round: Int, using generator: inout SeededGenerator
    ) throws {
        var ids: [String] = []
        let wanted =
            generator.chance(50) ? 1 : Int.random(in: 1...plan.pipelineMax, using: &generator)
        for _ in 0..<wanted {
            let id = "p\(number)-\(Int.random(in: 0..<plan.idCount, using: &generator))"
            // One change of an id at a time: the ledger knows one pending content.
            guard !ids.contains(id) else { continue }
            try queueChange(of: id, &connection, round: round, using: &generator)
            ids.append(id)
        }
        try connection.flush()
        for id in ids { try take(try connection.receive().outcome, of: id) }
    }

    private func queueChange(
        of id: String, _ connection: inout BlobConnection, round: Int,
        using generator: inout SeededGenerator
    ) throws {
        if generator.chance(20) {
            note(.absent, of: id, round)
            _ = try connection.queueDelete(id)
            return
        }
        let (payload, digest) =
            if generator.chance(20) {
                plan.shared[Int.random(in: 0..<plan.shared.count, using: &generator)]
            } else {
                distinct(using: &generator)
            }
        note(.payload(digest), of: id, round)
        let bytes = payload.bytes()
        let request = PutRequest(id: id, mediaType: payload.mediaType, lifetime: .seconds(86_400))
        _ = try connection.queuePut(request, bytes.span.bytes)
    }

    private func distinct(
        using generator: inout SeededGenerator
    ) -> (payload: Payload, digest: PayloadDigest) {
        let payload = Payload.random(plan.byteCounts, using: &generator)
        return (payload, payload.digest())
    }

    private func note(_ content: Content, of id: String, _ round: Int) {
        ledger.withLock {
            $0.entries[id, default: Entry(acknowledged: .absent, round: round)].pending = content
            $0.entries[id]?.round = round
        }
    }

    private func take(_ outcome: Answer.Outcome, of id: String) throws(TestFailure) {
        switch outcome {
        case .stored(let receipt):
            try acknowledge(.payload(receipt.digest), of: id)
        case .done, .failed(.notFound), .failed(.expired):
            try acknowledge(.absent, of: id)
        default:
            throw TestFailure("publisher \(number): \(id) was answered with \(outcome)")
        }
    }

    private func acknowledge(_ content: Content, of id: String) throws(TestFailure) {
        let sent = ledger.withLock { ledger -> Content? in
            let sent = ledger.entries[id]?.pending
            ledger.entries[id]?.acknowledged = content
            ledger.entries[id]?.pending = nil
            ledger.acknowledgedCount += 1
            return sent
        }
        try require(
            sent == content,
            "\(id) was acknowledged as \(content); sent was \(sent.map { "\($0)" } ?? "-")")
    }

    // MARK: Checking

    /// Compares what the daemon has with the ledger: everything this round changed, and one in
    /// `sampling` of the rest. Returns how many notifications were looked at.
    func check(at socket: String, round: Int, sampling: Int) throws -> Int {
        var connection = try BlobConnection.connect(to: socket)
        var generator = SeededGenerator(seed: UInt64(round), thread: number)
        let entries = ledger.withLock { $0.entries }
        var count = 0
        for (id, entry) in entries.sorted(by: { $0.key < $1.key }) {
            let isOld = entry.round != round
            if isOld, Int.random(in: 0..<sampling, using: &generator) != 0 { continue }
            let found = try content(of: id, &connection)
            count += 1
            guard found == entry.acknowledged || found == entry.pending else {
                throw TestFailure(
                    "round \(round): \(id) is \(found); acknowledged was \(entry.acknowledged)"
                        + (entry.pending.map { ", sent without an answer \($0)" } ?? ""))
            }
            ledger.withLock {
                $0.entries[id]?.acknowledged = found
                $0.entries[id]?.pending = nil
            }
        }
        return count
    }

    /// What the daemon has under an id. The connection compares the bytes with their digest.
    private func content(of id: String, _ connection: inout BlobConnection) throws -> Content {
        do throws(ClientError) {
            return .payload(try connection.get(id).info.digest)
        } catch .notFound {
            return .absent
        } catch {
            throw TestFailure("\(id) cannot be fetched: \(error)")
        }
    }
}
