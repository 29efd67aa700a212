import Synchronization
import TestSupport

/// A change of one notification, as its publisher saw it.
struct CutChange: Codable, Sendable {
    /// The digest in hexadecimal digits; nil: deleted.
    let digest: String?
    /// Whether it was to expire within seconds.
    var expires = false
    /// How long the trace was before the change was sent.
    let sentAt: Int
    /// How long it was when the answer had come; nil: none came.
    var answeredAt: Int?
}

/// What was sent and what was answered, id by id. Of one id one change is under way at a time.
final class CutLedger: Sendable {
    private struct State: Sendable {
        var changes: [String: [CutChange]] = [:]
        var acknowledgedCount = 0
    }

    private let state = Mutex(State())

    /// A ledger of a store that has what `before` says already.
    init(_ before: [String: [CutChange]] = [:]) {
        state.withLock { $0.changes = before }
    }

    /// The changes of each id, in their order.
    var changes: [String: [CutChange]] { state.withLock { $0.changes } }

    /// Whether no change was ever sent.
    var isEmpty: Bool { state.withLock { $0.changes.isEmpty } }

    /// How many changes were answered.
    var acknowledgedCount: Int { state.withLock { $0.acknowledgedCount } }

    /// Notes that a change is about to be sent.
    func willSend(_ digest: String?, expires: Bool = false, for id: String, at place: Int) {
        let change = CutChange(digest: digest, expires: expires, sentAt: place)
        state.withLock { $0.changes[id, default: []].append(change) }
    }

    /// Notes the answer to the last change that was sent, with the state that it tells.
    func answered(_ digest: String?, for id: String, at place: Int) throws(TestFailure) {
        let sent = state.withLock { state -> CutChange? in
            guard let last = state.changes[id]?.indices.last else { return nil }
            state.changes[id]?[last].answeredAt = place
            state.acknowledgedCount += 1
            return state.changes[id]?[last]
        }
        try require(
            sent != nil && sent?.digest == digest,
            "\(id) was acknowledged as \(digest ?? "absent"); sent was \(sent?.digest ?? "absent")")
    }
}

/// What a notification may be after a cut.
struct CutExpectation {
    /// What it may be, or may have been until it expired.
    let allowed: [CutChange]
    /// Whether there was an answer to keep.
    let isAcknowledged: Bool
    /// Whether it may be there and expired, so that nobody sees it.
    let mayHaveExpired: Bool

    /// The last change that was answered by then, and each behind it that had been sent.
    init(_ changes: [CutChange], at place: Int) {
        let answered = changes.lastIndex { $0.answeredAt.map { $0 <= place } ?? false }
        isAcknowledged = answered != nil
        let first = answered.map { changes[$0] } ?? CutChange(digest: nil, sentAt: -1)
        allowed = [first] + changes[((answered ?? -1) + 1)...].filter { $0.sentAt < place }
        // Deleting what has expired changes nothing.
        mayHaveExpired = changes.contains { $0.expires && $0.sentAt < place }
    }

    /// Whether it may be this, or absent.
    func allows(_ digest: String?) -> Bool {
        allowed.contains { $0.digest == digest || $0.expires && digest == nil }
    }

    /// The same as changes from before a trace began.
    var before: [CutChange] {
        allowed.enumerated().map { index, change in
            let isAnswer = index == 0 && isAcknowledged
            return CutChange(
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
