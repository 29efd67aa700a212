import BlobProtocol
import BlobStore
import Synchronization

/// The result of a request to the writer, for the connection that waits for it. Each case is one word, so that handing
/// a result on costs little.
enum ChangeResult: Sendable {
    /// The change was applied, or had no effect. A refused one is ``failed(_:)``.
    case applied(Outcome)
    /// The result of each line of a batch, in order.
    case lines([BatchLine.Answered])
    indirect case long(LongChange)
    /// A later step of a long change failed. The earlier steps are done.
    indirect case stopped(LongChange, StoreError)
    case writable
    /// Everything acknowledged is committed.
    case committed
    /// This daemon leads.
    case promoted(epoch: UInt64)
    indirect case failed(StoreError)
    /// A job found the body to be invalid.
    indirect case refused(ProtocolError)

    var isChange: Bool {
        switch self {
        case .applied(.notFound): false
        case .applied, .lines, .long: true
        case .stopped, .writable, .committed, .promoted, .failed, .refused: false
        }
    }

    /// The result describes the store, so a client that asked for `replicated` gets it once the bucket has that state,
    /// too: a delete that finds nothing may be the second attempt of one whose answer was lost.
    var tellsState: Bool {
        switch self {
        case .applied, .lines, .long, .stopped: true
        default: false
        }
    }

    /// Whether it may have changed nothing. Then nothing of it gets into the bucket.
    var mayLackEffect: Bool {
        switch self {
        case .applied(.published), .applied(.deleted), .applied(.changed),
            .applied(.held(_, created: true)), .applied(.categorySet(_, created: true)):
            false
        case .lines(let lines): lines.contains { $0.result.tellsState && $0.result.mayLackEffect }
        default: true
        }
    }
}

/// The store's batches that a change is in, or after which it had no effect.
struct BatchSpan: Sendable, Equatable {
    var first: UInt64
    var last: UInt64

    static let none = BatchSpan(first: 0, last: 0)

    init(first: UInt64, last: UInt64) { (self.first, self.last) = (first, last) }

    init(_ sequence: UInt64) { self.init(first: sequence, last: sequence) }

    func contains(_ sequence: UInt64) -> Bool { first <= sequence && sequence <= last }

    mutating func formUnion(_ other: BatchSpan) {
        guard self != .none else { return self = other }
        (first, last) = (min(first, other.first), max(last, other.last))
    }
}

struct BatchLine: Sendable {
    /// The notification's id, if the line has one.
    var id: String?
    var refused: ProtocolError?

    struct Answered: Sendable {
        var id: String?
        var result: ChangeResult
    }
}

/// Noncopyable, since a copy would retain each of its texts.
struct PendingChange: ~Copyable, Sendable {
    enum Operation: Sendable {
        case apply(CheckedChange)
        /// A piece of a batch, in one transaction but with a result for each line, and the collector of the results.
        case applyAll([CheckedChange], [BatchLine], BatchResults)
        /// Applied in steps, between which other changes are applied.
        indirect case long(CheckedLongChange)
        case checkWritable
        case waitForCommit
        /// Makes this daemon the leader of its shard. Not done by the writer: see ``ReplicaStatus``.
        case promote(isForced: Bool)
    }

    let operation: Operation
    let connection: ConnectionAddress
    /// The memory of the payload, released when the change is committed.
    let reservation: BodyReservation?
}

/// The changes are a separate array, which the store takes without a copy.
struct ChangeBatch {
    var changes: [CheckedChange] = []
    /// The waiting connections, in the order of their changes.
    var waiters: [Waiter] = []
    /// Whether some of them may wait for a commit.
    var hasCommitWaiters = false

    var isEmpty: Bool { waiters.isEmpty }

    struct Waiter {
        let connection: ConnectionAddress
        let completion: Completion
        /// Kept until the change is done.
        let reservation: BodyReservation?
    }

    enum Completion {
        case change
        /// A piece of a batch, with one change for each line that is not refused.
        case lines([BatchLine], BatchResults)
        case check
        case waitForCommit

        var changeCount: Int {
            switch self {
            case .change: 1
            case .lines(let lines, _): lines.count { $0.refused == nil }
            case .check, .waitForCommit: 0
            }
        }
    }

    mutating func append(_ change: consuming PendingChange) {
        let completion: Completion
        let connection = change.connection
        let reservation = change.reservation
        switch change.operation {
        case .apply(let change):
            changes.append(change)
            completion = .change
        case .applyAll(let all, let lines, let results):
            // Taking over an array copies no change.
            if changes.isEmpty { changes = all } else { changes += all }
            completion = .lines(lines, results)
        case .waitForCommit:
            hasCommitWaiters = true
            completion = .waitForCommit
        case .checkWritable, .long, .promote: completion = .check
        }
        waiters.append(
            Waiter(connection: connection, completion: completion, reservation: reservation))
    }

    /// Takes the first waiters: those of `countMax` changes or questions, or slightly more.
    mutating func take(_ countMax: Int) -> ChangeBatch {
        var taken = ChangeBatch()
        var changeCount = 0
        var waiterCount = 0
        var count = 0
        while waiterCount < waiters.count, count < countMax {
            let completionCount = waiters[waiterCount].completion.changeCount
            changeCount += completionCount
            count += max(1, completionCount)
            waiterCount += 1
        }
        guard waiterCount < waiters.count else {
            swap(&taken, &self)
            // About as many will follow, and arrays of that size need not grow.
            changes.reserveCapacity(taken.changes.count)
            waiters.reserveCapacity(taken.waiters.count)
            return taken
        }
        // They may be in either part.
        taken.hasCommitWaiters = hasCommitWaiters
        taken.waiters = Array(waiters.prefix(waiterCount))
        taken.changes = Array(changes.prefix(changeCount))
        waiters.removeFirst(waiterCount)
        changes.removeFirst(changeCount)
        return taken
    }

    /// Connections that wait for a commit keep waiting: what they asked for was acknowledged earlier.
    func refuse(with result: ChangeResult) {
        complete { waiter in
            if case .waitForCommit = waiter.completion { nil } else { result }
        }
    }

    /// Calls `result` for each waiter, in order; nil: the waiter is answered later. `span`: where the changes are in the
    /// store.
    func complete(in span: BatchSpan = .none, _ result: (_ waiter: Waiter) -> ChangeResult?) {
        var inboxes = InboxWakes()
        for waiter in waiters {
            guard var result = result(waiter) else { continue }
            var span = span
            if case .lines(let lines, let results) = waiter.completion {
                guard let whole = results.add(result, of: lines, in: span) else { continue }
                (result, span) = whole
            }
            inboxes.leave(.changed(result, in: span), for: waiter.connection)
        }
        inboxes.wakeAll()
    }
}

/// The results of a batch that is handed to the writer in pieces. Its connection is notified once.
final class BatchResults: Sendable {
    private struct State {
        var lines: [BatchLine.Answered] = []
        var pieceCount: Int
        var isApplied = false
        var span = BatchSpan.none
    }

    private let state: Mutex<State>

    init(pieceCount: Int) { state = Mutex(State(pieceCount: pieceCount)) }

    /// Adds the result of a piece. With the last piece, returns the result of the batch: one for each line or, if no
    /// piece was applied, one for all.
    func add(
        _ result: ChangeResult, of lines: [BatchLine], in span: BatchSpan = .none
    ) -> (result: ChangeResult, span: BatchSpan)? {
        state.withLock { state in
            state.pieceCount -= 1
            if case .lines(let answered) = result {
                state.lines += answered
                state.isApplied = true
                state.span.formUnion(span)
            } else {
                state.lines += lines.map { line in
                    BatchLine.Answered(
                        id: line.id, result: line.refused.map { .refused($0) } ?? result)
                }
            }
            guard state.pieceCount == 0 else { return nil }
            return (state.isApplied ? .lines(state.lines) : result, state.span)
        }
    }
}
