import BlobClient
import BlobProtocol
import Synchronization
import TestSupport

/// Publishes, replaces and deletes under ids that are its own, and keeps the ledger of what the
/// daemon acknowledged.
final class Publisher: Sendable {
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
        /// How many of a hundred changes are of an id that was never used.
        var newPercent = 0
        /// How many of a hundred payloads expire after a second.
        var expiringPercent = 0
        /// How often of a hundred times twelve changes are sent together.
        var burstPercent = 0
        /// Whether what each publishes is an owner's.
        var hasOwners = false
        /// From one change to the next, in microseconds; 0: as soon as it is answered.
        var every = 0
        /// How long each rests after an answer, in microseconds.
        var rest: @Sendable (inout SeededGenerator) -> Int = { _ in 0 }
        /// Makes a payload that nobody else publishes; nil: any of these sizes.
        var payload: (@Sendable (_ isBurst: Bool, inout SeededGenerator) -> Payload)?
        /// Where all of them note what they do; nil: each has a ledger of its own.
        var ledger: Ledger?
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
    private let refusals = Atomic(0)
    /// Ids that were never used before.
    private let newIDs = Atomic(0)

    init(number: Int, plan: Plan) {
        self.number = number
        self.plan = plan
        ledger = plan.ledger ?? Ledger()
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
    var acknowledgedCount: Int { ledger.acknowledgedCount }
    /// How many it has refused.
    var refusedCount: Int { refusals.load(ordering: .relaxed) }

    /// What it sent and what was answered.
    let ledger: Ledger

    // MARK: Changing

    /// Starts a thread for each; see ``work(at:seed:round:until:)``.
    static func start(
        _ crowd: [Publisher], at sockets: [String], seed: UInt64, round: Int = 0,
        until stop: StopSign
    ) throws -> Threads {
        try Threads.start(crowd.count) { index in
            try crowd[index].work(at: sockets, seed: seed, round: round, until: stop)
        }
    }

    /// Changes until the connection ends, or until `stop` when it persists. Throws only when a
    /// daemon answers something wrong.
    func work(at sockets: [String], seed: UInt64, round: Int = 0, until stop: StopSign) throws {
        var generator = SeededGenerator(seed: seed, thread: number, round: round)
        var turn = number
        var left = plan.changesMax
        var next = Clock.nanoseconds()
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
                    // By the clock and not by pauses, so that the rate holds. What is late by a tenth of a second
                    // is left out.
                    next = max(next + plan.every * 1_000, Clock.nanoseconds() - 100_000_000)
                    let wait = plan.every > 0 ? (next - Clock.nanoseconds()) / 1_000 : 0
                    Clock.pause(microseconds: max(wait, plan.rest(&generator)))
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

    /// Works for a while.
    ///
    /// - Returns: the 99th percentile of the answers' times, in microseconds, and how many changes were refused.
    func work(at socket: String, milliseconds: Int) throws -> (p99: Int, refused: Int) {
        let (first, refusedBefore) = (acknowledgedCount, refusedCount)
        try work(
            at: [socket], seed: UInt64(first), until: StopSign(afterMilliseconds: milliseconds))
        let times = (first..<acknowledgedCount).compactMap { index -> Int? in
            guard let (_, change) = ledger.answer(index) else { return nil }
            return ((change.answeredAt ?? 0) - change.sentAt) / 1_000
        }
        return (percentile(99, of: times), refusedCount - refusedBefore)
    }

    /// - Returns: how many changes were acknowledged.
    private func changeSome(
        _ connection: inout BlobConnection, atMost limit: Int, round: Int,
        using generator: inout SeededGenerator
    ) throws -> Int {
        var ids: [String] = []
        let isBurst = generator.chance(plan.burstPercent)
        let wanted =
            isBurst
            ? 12
            : generator.chance(50) ? 1 : Int.random(in: 1...plan.pipelineMax, using: &generator)
        for _ in 0..<min(wanted, limit) {
            let isNew = generator.chance(plan.newPercent)
            let id =
                isNew
                ? "\(plan.name)\(number)-new-\(newIDs.add(1, ordering: .relaxed).newValue)"
                : "\(plan.name)\(number)-\(generator.below(plan.idCount))"
            // One change of an id at a time: an answer acknowledges the last one.
            guard !ids.contains(id) else { continue }
            let isDeleted = !isNew && generator.chance(plan.deletePercent)
            if isDeleted {
                ledger.willSend(nil, for: id, round: round)
                _ = try connection.queueCall(.delete(id))
            } else {
                try queuePut(of: id, isBurst: isBurst, &connection, round, using: &generator)
            }
            ids.append(id)
        }
        try connection.flush()
        var refusal: ClientError?
        for id in ids {
            let outcome = try connection.receive().outcome
            if case .failed(let error) = outcome, error.isRefusal {
                refusals.add(1, ordering: .relaxed)
                refusal = error
            } else {
                try take(outcome, of: id)
            }
        }
        if let refusal { throw refusal }
        return ids.count
    }

    private func queuePut(
        of id: String, isBurst: Bool, _ connection: inout BlobConnection, _ round: Int,
        using generator: inout SeededGenerator
    ) throws {
        let (payload, digest): (Payload, PayloadDigest)
        if generator.chance(plan.sharedPercent) {
            (payload, digest) = plan.shared[generator.below(plan.shared.count)]
        } else {
            payload =
                plan.payload?(isBurst, &generator)
                ?? Payload.random(plan.byteCounts, using: &generator)
            digest = payload.digest()
        }
        let expires = generator.chance(plan.expiringPercent)
        let bytes = payload.bytes()
        let request = PutRequest(
            id: id, mediaType: payload.mediaType, owner: plan.hasOwners ? "owner-\(number)" : nil,
            lifetime: .seconds(expires ? 1 : 86_400))
        ledger.willSend(digest.description, expires: expires, for: id, round: round)
        _ = try connection.queuePut(request, bytes.span.bytes)
    }

    private func take(_ outcome: Answer.Outcome, of id: String) throws(TestFailure) {
        switch outcome {
        case .stored(let receipt):
            try ledger.answered(receipt.digest.description, for: id)
            plan.news?.note(id)
        case .called: try ledger.answered(nil, for: id)
        case .failed(.notFound), .failed(.expired):
            // That nothing is here says nothing of the bucket.
            if !plan.awaitsReplication { try ledger.answered(nil, for: id) }
        default:
            throw TestFailure("\(plan.name)\(number): \(id) was answered with \(outcome)")
        }
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

    /// How many changes of ids that were used once are missing, and how long before a moment the first of them was
    /// acknowledged, in milliseconds. None may be there after one that is not.
    func missing(
        at socket: String, since nanoseconds: Int
    ) throws -> (count: Int, milliseconds: Int) {
        var connection = try BlobConnection.connect(to: socket)
        var first: (index: Int, at: Int)?
        for index in 0..<acknowledgedCount {
            guard let (id, change) = ledger.answer(index) else { break }
            let isThere = try content(of: id, &connection) != nil
            if !isThere, first == nil { first = (index, change.answeredAt ?? 0) }
            try require(!isThere || first == nil, "\(id) is there, and one before it is not")
        }
        guard let first else { return (0, 0) }
        return (acknowledgedCount - first.index, max(0, nanoseconds - first.at) / 1_000_000)
    }

    /// The ids of which a daemon does not have what was acknowledged.
    func missingIDs(at socket: String) throws -> [String] {
        var connection = try BlobConnection.connect(to: socket)
        return try ledger.changes.keys.filter { id in
            guard let digest = ledger.expectation(of: id).allowed[0].digest else { return false }
            return try content(of: id, &connection) != digest
        }.sorted()
    }

    /// Throws unless a daemon has what was there at one moment of a time, by the ledger's clock. Its history must be
    /// kept, and one change sent at a time.
    ///
    /// - Returns: what each of its notifications is there; nil: absent.
    func checkOneMoment(
        of time: ClosedRange<Int>, at socket: String
    ) throws -> [String: String?] {
        var connection = try BlobConnection.connect(to: socket)
        let changes = ledger.changes
        var found: [String: String?] = [:]
        for id in changes.keys { found[id] = .some(try content(of: id, &connection)) }
        // After each answer everything is known. The last change may have been done before its answer came.
        let moments = changes.values.joined().compactMap(\.answeredAt).sorted()
        let first = moments.lastIndex { $0 <= time.lowerBound } ?? 0
        let last = moments.firstIndex { $0 > time.upperBound } ?? moments.count - 1
        let isRight = moments[first...last].contains { moment in
            changes.allSatisfy { Expectation($0.value, at: moment).allows(found[$0.key] ?? nil) }
        }
        try require(
            isRight,
            "the notifications of \(plan.name)\(number) are those of no moment among \(last - first + 1)"
        )
        return found
    }

    private func faults(
        at sockets: [String], round: Int, sampling: Int
    ) throws -> (count: Int, faults: [String]) {
        var generator = SeededGenerator(seed: UInt64(round), thread: number)
        let ids = ledger.changes.keys.sorted().filter {
            ledger.round(of: $0) == round || Int.random(in: 0..<sampling, using: &generator) == 0
        }
        var faults: [String] = []
        // What the first daemon has is what the others must have.
        for socket in sockets {
            var connection = try BlobConnection.connect(to: socket)
            for id in ids {
                let expectation = ledger.expectation(of: id)
                do {
                    let found = try content(of: id, &connection)
                    try require(
                        expectation.allows(found) || plan.mayLose && socket == sockets[0],
                        "\(id) at \(socket) is \(found ?? "absent"); it must be \(expectation.words)"
                    )
                    ledger.settle(found, for: id)
                } catch { faults.append("\(error)") }
            }
        }
        return (ids.count, faults)
    }
}

/// The digest of what a daemon has under an id; nil: nothing. The connection compares the bytes with their digest.
func content(of id: String, _ connection: inout BlobConnection) throws -> String? {
    do throws(ClientError) {
        return try connection.get(id).info.digest.description
    } catch .notFound {
        return nil
    } catch {
        throw TestFailure("\(id) cannot be fetched: \(error)")
    }
}

extension ClientError {
    /// Whether a daemon did not take a change that another daemon, or it later, may take.
    fileprivate var isRefusal: Bool {
        guard case .refused(let problem) = self else { return false }
        return ["unreplicated", "follower", "unavailable", "stopping"].contains(problem.code)
    }
}
