import BlobProtocol
import BlobStore

/// Changes, and who waits for them. Two arrays, so that the store is given the first as it is.
struct ChangeBatch {
    var changes: [Change] = []
    /// Whoever waits, for the next change each or for an answer to a question.
    var waiters: [Waiter] = []
    /// Whether somebody waits for a commit of what was acknowledged before.
    var hasReaders = false

    struct Waiter {
        let connection: ConnectionAddress
        let completion: Completion
        /// Kept until the change is done.
        let reservation: BodyReservation?
    }

    /// What a waiter waits for.
    enum Completion {
        /// The next change.
        case change
        /// As many changes as there are lines that are not refused.
        case lines([Line])
        /// An answer to the question whether the store can commit.
        case check
        /// That all that was acknowledged is committed.
        case waitForCommit

        struct Line {
            let id: String?
            /// What is wrong with it; nil: it is a change.
            let refused: ProtocolError?
        }

        var changeCount: Int {
            switch self {
            case .change: 1
            case .lines(let lines): lines.count { $0.refused == nil }
            case .check, .waitForCommit: 0
            }
        }
    }

    /// Adds what is asked for. Long changes are not among it.
    mutating func append(_ change: consuming PendingChange) {
        let completion: Completion
        let connection = change.connection
        let reservation = change.reservation
        switch change.operation {
        case .apply(let change):
            changes.append(change)
            completion = .change
        case .applyAll(let lines):
            completion = .lines(
                lines.map { line in
                    switch line.content {
                    case .change(let change):
                        changes.append(change)
                        return Completion.Line(id: line.id, refused: nil)
                    case .refused(let error):
                        return Completion.Line(id: line.id, refused: error)
                    }
                })
        case .waitForCommit:
            hasReaders = true
            completion = .waitForCommit
        case .checkWritable, .long: completion = .check
        }
        waiters.append(
            Waiter(connection: connection, completion: completion, reservation: reservation))
    }

    /// Takes the first ones, with `countMax` changes or questions, or a few more where the last
    /// has several.
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
            // About as many come next, and need not be moved as they become more.
            changes.reserveCapacity(taken.changes.count)
            waiters.reserveCapacity(taken.waiters.count)
            return taken
        }
        // Perhaps they come later; the batch is looked through then.
        taken.hasReaders = hasReaders
        taken.waiters = Array(waiters.prefix(waiterCount))
        taken.changes = Array(changes.prefix(changeCount))
        waiters.removeFirst(waiterCount)
        changes.removeFirst(changeCount)
        return taken
    }
}
