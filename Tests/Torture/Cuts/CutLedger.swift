import Synchronization

/// A change of one notification, as its publisher saw it.
struct CutChange: Codable, Sendable {
    /// The digest in hexadecimal digits; nil: deleted.
    let digest: String?
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
    func willSend(_ digest: String?, for id: String, at place: Int) {
        state.withLock {
            $0.changes[id, default: []].append(CutChange(digest: digest, sentAt: place))
        }
    }

    /// Notes the answer to the last change that was sent, with the state that it tells.
    func answered(_ digest: String?, for id: String, at place: Int) throws(Failure) {
        let sent = state.withLock { state -> CutChange? in
            guard var changes = state.changes[id], let last = changes.popLast() else { return nil }
            changes.append(CutChange(digest: last.digest, sentAt: last.sentAt, answeredAt: place))
            state.changes[id] = changes
            state.acknowledgedCount += 1
            return last
        }
        try require(
            sent != nil && sent?.digest == digest,
            "\(id) was acknowledged as \(digest ?? "absent"); sent was \(sent?.digest ?? "absent")")
    }
}

/// What a notification may be after a cut.
struct CutExpectation {
    /// Digests; nil: it may be absent.
    let allowed: [String?]
    /// Whether there was an answer to keep.
    let isAcknowledged: Bool

    /// The last change that was answered by then, and each behind it that had been sent.
    init(_ changes: [CutChange], at place: Int) {
        let answered = changes.lastIndex { $0.answeredAt.map { $0 <= place } ?? false }
        isAcknowledged = answered != nil
        let first = answered.map { [changes[$0].digest] } ?? [nil]
        let later = changes[((answered ?? -1) + 1)...].filter { $0.sentAt < place }
        allowed = first + later.map(\.digest)
    }

    /// The same as changes from before a trace began.
    var before: [CutChange] {
        allowed.enumerated().map { index, digest in
            let isAnswer = index == 0 && isAcknowledged
            return CutChange(digest: digest, sentAt: -1, answeredAt: isAnswer ? -1 : nil)
        }
    }

    var words: String {
        allowed.map { $0.map { String($0.prefix(19)) } ?? "absent" }.joined(separator: " or ")
    }
}
