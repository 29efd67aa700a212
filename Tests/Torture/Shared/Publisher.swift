import BlobClient
import BlobProtocol
import Synchronization
import TestSupport

/// Publishes, replaces and deletes under ids that are its own, and keeps the ledger of what the
/// daemon acknowledged.
///
/// A change that was sent and not answered, or refused, may have happened or not. Until a later
/// change of the same id is acknowledged, or a check has found what is there, both count as right.
final class Publisher: Sendable {
    /// What a notification may look like.
    private enum Content: Sendable, Equatable {
        case absent
        case payload(PayloadDigest)
    }

    private struct Entry: Sendable {
        var acknowledged = Content.absent
        /// Changes since then: the one that is under way is the last, the others were not answered.
        var pending: [Content] = []
        /// The round of the last change.
        var round = 0
    }

    private struct Ledger: Sendable {
        var entries: [String: Entry] = [:]
        var acknowledgedCount = 0
        var refusedCount = 0
    }

    /// What every publisher has in common.
    struct Plan: Sendable {
        /// What their ids begin with.
        var name = "p"
        /// Publishers that are at work.
        var publisherCount = 16
        /// Ids that each has for its own.
        var idCount = 60
        /// Sizes of payloads.
        var byteCounts = 100...2_000_000
        /// Changes that are sent together at most.
        var pipelineMax = 4
        /// Changes that each makes before it ends by itself.
        var changesMax = Int.max
        /// How many of a hundred changes are deletes.
        var deletePercent = 20
        /// How many of a hundred payloads are ones that others publish, too.
        var sharedPercent = 20
        /// How long each rests after an answer.
        var pauseMicroseconds = 0
        /// Whether each waits for the bucket.
        var awaitsReplication = false
        /// Whether each connects again, to the next of its daemons, when it is refused or loses its
        /// connection.
        var persists = false
        /// Whether acknowledged changes may be lost, as those that did not wait for the bucket are
        /// with their leader. All daemons must still agree on what is there.
        var mayLose = false
        /// Where each says what it published last.
        var news: News?
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

    /// How many changes of all of them daemons have acknowledged.
    static func acknowledgedCount(_ crowd: [Publisher]) -> Int {
        crowd.reduce(0) { $0 + $1.acknowledgedCount }
    }

    /// How many changes the daemon has acknowledged.
    var acknowledgedCount: Int { ledger.withLock { $0.acknowledgedCount } }
    /// How many it has refused.
    var refusedCount: Int { ledger.withLock { $0.refusedCount } }

    // MARK: Changing

    /// Changes until the connection ends, or until `stop` when it persists. Throws only when a
    /// daemon answers something wrong.
    func work(at sockets: [String], seed: UInt64, round: Int = 0, until stop: StopSign) throws {
        var generator = SeededGenerator(seed: seed, thread: number, round: round)
        var turn = number
        var left = plan.changesMax
        repeat {
            turn += 1
            guard
                var connection = try? BlobConnection.connect(to: sockets[turn % sockets.count])
            else {
                Clock.pause(microseconds: 20_000)
                continue
            }
            connection.awaitsReplication = plan.awaitsReplication
            do {
                while !stop.isUp, left > 0 {
                    left -= try changeSome(
                        &connection, atMost: left, round: round, using: &generator)
                    if plan.pauseMicroseconds > 0 {
                        Clock.pause(microseconds: plan.pauseMicroseconds)
                    }
                }
            } catch let error as ClientError {
                switch error {
                case .closed, .io, .noDaemon: break
                case .refused where plan.persists, .timeout where plan.persists:
                    Clock.pause(microseconds: 20_000)
                default: throw TestFailure("\(plan.name)\(number): \(error)")
                }
            }
        } while plan.persists && !stop.isUp && left > 0
    }

    /// - Returns: how many changes were acknowledged.
    private func changeSome(
        _ connection: inout BlobConnection, atMost limit: Int, round: Int,
        using generator: inout SeededGenerator
    ) throws -> Int {
        var ids: [String] = []
        let wanted =
            generator.chance(50) ? 1 : Int.random(in: 1...plan.pipelineMax, using: &generator)
        for _ in 0..<min(wanted, limit) {
            let id =
                "\(plan.name)\(number)-\(Int.random(in: 0..<plan.idCount, using: &generator))"
            // One change of an id at a time: an answer acknowledges the last one.
            guard !ids.contains(id) else { continue }
            try queueChange(of: id, &connection, round: round, using: &generator)
            ids.append(id)
        }
        try connection.flush()
        var refusal: ClientError?
        for id in ids {
            let outcome = try connection.receive().outcome
            if case .failed(let error) = outcome, error.isRefusal {
                ledger.withLock { $0.refusedCount += 1 }
                refusal = error
            } else {
                try take(outcome, of: id)
            }
        }
        if let refusal { throw refusal }
        return ids.count
    }

    private func queueChange(
        of id: String, _ connection: inout BlobConnection, round: Int,
        using generator: inout SeededGenerator
    ) throws {
        if generator.chance(plan.deletePercent) {
            note(.absent, of: id, round)
            _ = try connection.queueCall(.delete(id))
            return
        }
        let (payload, digest) =
            if generator.chance(plan.sharedPercent) {
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
            $0.entries[id, default: Entry()].pending.append(content)
            $0.entries[id]?.round = round
        }
    }

    private func take(_ outcome: Answer.Outcome, of id: String) throws(TestFailure) {
        switch outcome {
        case .stored(let receipt):
            try acknowledge(.payload(receipt.digest), of: id)
            plan.news?.note(id)
        case .called: try acknowledge(.absent, of: id)
        case .failed(.notFound), .failed(.expired):
            // That nothing is here says nothing of the bucket.
            if !plan.awaitsReplication { try acknowledge(.absent, of: id) }
        default:
            throw TestFailure("\(plan.name)\(number): \(id) was answered with \(outcome)")
        }
    }

    private func acknowledge(_ content: Content, of id: String) throws(TestFailure) {
        let sent = ledger.withLock { ledger -> Content? in
            let sent = ledger.entries[id]?.pending.last
            ledger.entries[id]?.acknowledged = content
            ledger.entries[id]?.pending = []
            ledger.acknowledgedCount += 1
            return sent
        }
        try require(
            sent == content,
            "\(id) was acknowledged as \(content); sent was \(sent.map { "\($0)" } ?? "-")")
    }

    // MARK: Checking

    /// Throws unless each of the daemons has what the ledgers say; see `faults`.
    ///
    /// - Returns: how many notifications were looked at.
    @discardableResult
    static func check(
        _ crowd: [Publisher], at sockets: [String], round: Int = 0, sampling: Int = 1,
        _ when: String
    ) throws -> Int {
        let (count, faults) = try faults(crowd, at: sockets, round: round, sampling: sampling)
        try require(
            faults.isEmpty,
            "\(when): \(faults.count) of \(count) notifications are wrong: \(faults.prefix(3).joined(separator: "; "))"
        )
        return count
    }

    /// Compares what each of the daemons has with the ledgers: everything that was changed in `round`,
    /// and one in `sampling` of the rest.
    ///
    /// - Returns: how many notifications were looked at, and what is wrong with some.
    static func faults(
        _ crowd: [Publisher], at sockets: [String], round: Int, sampling: Int = 1
    ) throws -> (count: Int, faults: [String]) {
        let counts = Counts(crowd.count)
        let faults = Mutex<[String]>([])
        try Threads.run(crowd.count) { index in
            let found = try crowd[index].faults(at: sockets, round: round, sampling: sampling)
            counts.set(index, found.count)
            faults.withLock { $0 += found.faults }
        }
        return (counts.sum, faults.withLock { $0 })
    }

    /// The ids of which a daemon does not have what was acknowledged.
    func missingIDs(at socket: String) throws -> [String] {
        var connection = try BlobConnection.connect(to: socket)
        return try ledger.withLock { $0.entries }.filter { id, entry in
            guard entry.acknowledged != .absent else { return false }
            return try content(of: id, &connection) != entry.acknowledged
        }.keys.sorted()
    }

    private func faults(
        at sockets: [String], round: Int, sampling: Int
    ) throws -> (count: Int, faults: [String]) {
        var generator = SeededGenerator(seed: UInt64(round), thread: number)
        let entries = ledger.withLock { $0.entries }.sorted { $0.key < $1.key }.filter {
            $0.value.round == round || Int.random(in: 0..<sampling, using: &generator) == 0
        }
        var faults: [String] = []
        // What the first daemon has is what the others must have.
        for socket in sockets {
            var connection = try BlobConnection.connect(to: socket)
            for (id, _) in entries {
                let entry = ledger.withLock { $0.entries[id] ?? Entry() }
                do {
                    let found = try content(of: id, &connection)
                    let isRight =
                        found == entry.acknowledged || entry.pending.contains(found)
                        || plan.mayLose && socket == sockets[0]
                    try require(
                        isRight,
                        "\(id) at \(socket) is \(found); acknowledged was \(entry.acknowledged), sent without an answer \(entry.pending)"
                    )
                    ledger.withLock {
                        $0.entries[id]?.acknowledged = found
                        $0.entries[id]?.pending = []
                    }
                } catch { faults.append("\(error)") }
            }
        }
        return (entries.count, faults)
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

extension ClientError {
    /// Whether a daemon did not take a change that another daemon, or it later, may take.
    fileprivate var isRefusal: Bool {
        guard case .refused(let problem) = self else { return false }
        return ["unreplicated", "follower", "unavailable", "stopping"].contains(problem.code)
    }
}
