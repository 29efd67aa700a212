import BlobProtocol
import BlobStore

/// Changes, and who waits for them. The changes are an array of their own, which the store takes as it
/// is.
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

    /// What a waiter waits for.
    enum Completion {
        /// The next change.
        case change
        /// As many changes as there are lines that are not refused, of a piece of a batch.
        case lines([Line], BatchResults)
        /// A check whether the store can commit.
        case check
        /// A commit of everything that was acknowledged before.
        case waitForCommit

        struct Line {
            let id: String?
            /// Why the line is refused; nil: it is a change.
            let refused: ProtocolError?
        }

        var changeCount: Int {
            switch self {
            case .change: 1
            case .lines(let lines, _): lines.count { $0.refused == nil }
            case .check, .waitForCommit: 0
            }
        }
    }

    /// Adds a change that is not a long one.
    mutating func append(_ change: consuming PendingChange) {
        let completion: Completion
        let connection = change.connection
        let reservation = change.reservation
        switch change.operation {
        case .apply(let change):
            changes.append(change)
            completion = .change
        case .applyAll(let lines, let results):
            if changes.isEmpty { changes.reserveCapacity(lines.count) }
            completion = .lines(
                lines.map { line in
                    switch line.content {
                    case .change(let change):
                        changes.append(change)
                        return Completion.Line(id: line.id, refused: nil)
                    case .refused(let error):
                        return Completion.Line(id: line.id, refused: error)
                    }
                }, results)
        case .waitForCommit:
            hasCommitWaiters = true
            completion = .waitForCommit
        case .checkWritable, .long, .promote: completion = .check
        }
        waiters.append(
            Waiter(connection: connection, completion: completion, reservation: reservation))
    }

    /// Takes the first waiters, those of `countMax` changes or questions. There are a few changes more
    /// if the last waiter has several.
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

    /// Tells those who wait for a change or a check why there is none. Those who wait for a commit wait on: what they
    /// asked for was acknowledged before.
    func refuse(with result: ChangeResult) {
        complete { waiter in
            if case .waitForCommit = waiter.completion { nil } else { result }
        }
    }

    /// Tells those who wait what came of their changes.
    ///
    /// - Parameter result: is asked for each waiter, in their order; nil: it is told later.
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
