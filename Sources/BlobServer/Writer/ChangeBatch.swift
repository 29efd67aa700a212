import BlobProtocol
import BlobStore
import Synchronization

/// What became of a request for the writer, for the connection that waits for it.
enum ChangeResult: Sendable {
    /// The change was applied, or found what the store has. A refused one is ``failed(_:)``.
    case applied(Outcome)
    /// The result of each line of a batch, in their order.
    case lines([BatchLine.Answered])
    case long(LongChange)
    /// A later step of a long change failed. What the steps before did is done.
    case stopped(LongChange, StoreError)
    case writable
    /// Everything that was acknowledged is committed.
    case committed
    /// This daemon leads.
    case promoted(epoch: UInt64)
    case failed(StoreError)
    /// The body is wrong, as a job found.
    case refused(ProtocolError)

    var isChange: Bool {
        switch self {
        case .applied(.notFound): false
        case .applied, .lines, .long: true
        case .stopped, .writable, .committed, .promoted, .failed, .refused: false
        }
    }

    /// A client that asked for `replicated` is told what the store has when the bucket has it, too: a delete that
    /// finds nothing may be the second attempt of one whose answer was lost.
    var tellsState: Bool {
        switch self {
        case .applied, .lines, .long, .stopped: true
        default: false
        }
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

/// It is moved, since a copy would count a reference for each of its texts.
struct PendingChange: ~Copyable, Sendable {
    enum Operation: Sendable {
        case apply(CheckedChange)
        /// A piece of a batch: each line by itself, in one transaction, and where the results go.
        case applyAll([CheckedChange], [BatchLine], BatchResults)
        /// In steps, between which other changes are applied.
        case long(CheckedLongChange)
        case checkWritable
        case waitForCommit
        /// Take the lead of the shard. It is not the writer's: see ``ReplicaStatus``.
        case promote(isForced: Bool)
    }

    let operation: Operation
    let connection: ConnectionAddress
    /// The memory of the payload. Released when the change is committed.
    let reservation: BodyReservation?
}

/// The changes are an array of their own, which the store takes as it is.
struct ChangeBatch {
    var changes: [CheckedChange] = []
    /// Those who wait, in the order of their changes.
    var waiters: [Waiter] = []
    /// Whether there may be one among them who waits for a commit.
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
        /// As many changes as there are lines that are not refused, of a piece of a batch.
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
            // An array that is taken over copies none of them.
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

    /// Takes the first waiters, those of `countMax` changes or questions, or a few more.
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
            // About as many come next. Arrays of that size need not grow.
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

    /// Those who wait for a commit wait on: what they asked for was acknowledged before.
    func refuse(with result: ChangeResult) {
        complete { waiter in
            if case .waitForCommit = waiter.completion { nil } else { result }
        }
    }

    /// `result` is asked for each waiter, in their order; nil: it is told later.
    func complete(_ result: (_ waiter: Waiter) -> ChangeResult?) {
        var inboxes = InboxWakes()
        for waiter in waiters {
            guard var result = result(waiter) else { continue }
            if case .lines(let lines, let results) = waiter.completion {
                guard let whole = results.add(result, of: lines) else { continue }
                result = whole
            }
            inboxes.leave(.changed(result), for: waiter.connection)
        }
        inboxes.wakeAll()
    }
}

/// The results of a batch that is handed to the writer in pieces. Its connection is told once.
final class BatchResults: Sendable {
    private struct State {
        var lines: [BatchLine.Answered] = []
        var pieceCount: Int
        var isApplied = false
    }

    private let state: Mutex<State>

    init(pieceCount: Int) { state = Mutex(State(pieceCount: pieceCount)) }

    /// Adds the result of a piece. Returns that of the batch with the last piece: of each line or, when no piece was
    /// applied, of all.
    func add(_ result: ChangeResult, of lines: [BatchLine]) -> ChangeResult? {
        state.withLock { state in
            state.pieceCount -= 1
            if case .lines(let answered) = result {
                state.lines += answered
                state.isApplied = true
            } else {
                state.lines += lines.map { line in
                    BatchLine.Answered(
                        id: line.id, result: line.refused.map { .refused($0) } ?? result)
                }
            }
            guard state.pieceCount == 0 else { return nil }
            return state.isApplied ? .lines(state.lines) : result
        }
    }
}
