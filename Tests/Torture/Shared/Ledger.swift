import Synchronization
import TestSupport

/// A change of one notification, as its publisher saw it.
struct SentChange: Codable, Sendable {
    /// The digest of the payload; nil: deleted.
    let digest: String?
    /// Whether it was to expire within seconds.
    var expires = false
    /// The moment before it was sent.
    let sentAt: Int
    /// The moment when the answer had come; nil: none came.
    var answeredAt: Int?
}

/// What was sent and what was answered, id by id. Of one id one change is under way at a time.
///
/// A change that was sent and not answered, or refused, may have happened or not. Until a later change of the same id
/// is acknowledged, or a check has found what is there, both count as right (``Expectation``).
final class Ledger: Sendable {
    private struct State: Sendable {
        var changes: [String: [SentChange]] = [:]
        /// The round of the last change of each id.
        var rounds: [String: Int] = [:]
        var answers: [(id: String, change: SentChange)] = []
    }

    private let state = Mutex(State())
    private let keepsHistory: Bool
    private let moment: @Sendable () -> Int

    /// - Parameters:
    ///   - before: what is there already.
    ///   - keepsHistory: whether what was acknowledged before the last change of an id is wanted, too.
    ///   - moment: what time it is.
    init(
        _ before: [String: [SentChange]] = [:], keepsHistory: Bool = false,
        moment: @escaping @Sendable () -> Int = { Clock.nanoseconds() }
    ) {
        (self.keepsHistory, self.moment) = (keepsHistory, moment)
        state.withLock { $0.changes = before }
    }

    /// The changes of each id, in their order.
    var changes: [String: [SentChange]] { state.withLock { $0.changes } }

    /// How many changes were answered.
    var acknowledgedCount: Int { state.withLock { $0.answers.count } }

    /// A change that was answered, in the order of answers; nil: not so many were yet.
    func answer(_ index: Int) -> (id: String, change: SentChange)? {
        state.withLock { $0.answers.indices.contains(index) ? $0.answers[index] : nil }
    }

    func expectation(of id: String) -> Expectation { Expectation(changes[id] ?? [], at: .max) }

    /// The round of the last change of an id.
    func round(of id: String) -> Int { state.withLock { $0.rounds[id] ?? 0 } }

    /// Notes that a change is about to be sent.
    func willSend(_ digest: String?, expires: Bool = false, for id: String, round: Int) {
        let change = SentChange(digest: digest, expires: expires, sentAt: moment())
        state.withLock {
            $0.changes[id, default: []].append(change)
            $0.rounds[id] = round
        }
    }

    /// Notes the answer to the last change that was sent, with the state that it tells.
    func answered(_ digest: String?, for id: String) throws(TestFailure) {
        let now = moment()
        let sent = state.withLock { state -> SentChange? in
            guard var last = state.changes[id]?.popLast() else { return nil }
            last.answeredAt = now
            state.changes[id] = (keepsHistory ? state.changes[id] ?? [] : []) + [last]
            state.answers.append((id, last))
            return last
        }
        try require(
            sent != nil && sent?.digest == digest,
            "\(id) was acknowledged as \(digest ?? "absent"); sent was \(sent?.digest ?? "absent")")
    }

    /// A check has found what is there: all daemons must have that.
    func settle(_ digest: String?, for id: String) {
        state.withLock {
            $0.changes[id] = [SentChange(digest: digest, sentAt: 0, answeredAt: 0)]
        }
    }
}

/// What a notification may be at a moment.
struct Expectation {
    /// What it may be, or may have been until it expired. The first one is what was acknowledged.
    let allowed: [SentChange]
    /// Whether there was an answer to keep.
    let isAcknowledged: Bool
    /// Whether it may be there and expired, so that nobody sees it.
    let mayHaveExpired: Bool

    /// The last change that was answered by then, and each after it that had been sent.
    init(_ changes: [SentChange], at moment: Int) {
        let answered = changes.lastIndex { $0.answeredAt.map { $0 <= moment } ?? false }
        isAcknowledged = answered != nil
        let first = answered.map { changes[$0] } ?? SentChange(digest: nil, sentAt: -1)
        allowed = [first] + changes[((answered ?? -1) + 1)...].filter { $0.sentAt < moment }
        // Deleting what has expired changes nothing.
        mayHaveExpired = changes.contains { $0.expires && $0.sentAt < moment }
    }

    /// Whether it may be this, or absent.
    func allows(_ digest: String?) -> Bool {
        allowed.contains { $0.digest == digest || $0.expires && digest == nil }
    }

    /// As changes from before all others.
    var before: [SentChange] {
        allowed.enumerated().map { index, change in
            let isAnswer = index == 0 && isAcknowledged
            return SentChange(
                digest: change.digest, expires: change.expires, sentAt: -1,
                answeredAt: isAnswer ? -1 : nil)
        }
    }

    var words: String {
        allowed.map { change in
            (change.digest.map { String($0.prefix(19)) } ?? "absent")
                + (change.expires ? ", which expires" : "")
        }.joined(separator: " or ")
    }
}
