import BlobProtocol
import BlobStore

// What a wake-up brings: the requests of several connections are read and answered one after the
// other, in one snapshot, and then all answers are sent. A client that serves many connections, as a
// backend's process does, is woken once and finds several answers, where answers sent one by one
// would each wake it anew, which takes the kernel as long as a fetch.

/// A connection whose answers are in the batch: a plain value.
struct CollectedConnection {
    // Unretained: the worker's table keeps it until the iteration ends.
    let connection: Unmanaged<Connection>
    let answers: AnswerBatch.Section
    let rest: Rest

    /// What there is to do when the answers are sent.
    enum Rest {
        /// Nothing: the requests that came are answered.
        case nothing
        /// To look for more of them: the batch is full.
        case look
        /// The step of this index.
        case step(Int)
    }
}

extension Worker {
    /// Serves `count` events: batches of as many connections as are answered together, in as few
    /// snapshots as it takes, and by themselves what does not go so.
    func serveEvents(_ count: Int, _ input: inout InputBuffer, _ batch: inout AnswerBatch) {
        var next = 0
        while next < count {
            var alone = Due.nothing
            do throws(StoreError) {
                let snapshot = try environment.store.makeSnapshot()
                repeat {
                    alone = collectBatch(&next, count, in: snapshot, &input, &batch)
                    guard case .nothing = alone else { break }
                } while next < count && collected.isEmpty
            } catch {
                // No snapshot, so nothing was read: its own time slice meets the same, and says so.
                alone = takeEvent(&next)
            }
            finishCollected(&input, &batch)
            switch alone {
            case .messages:
                for message in inbox.takeAll() { take(message, &input, &batch) }
            case .connection(let unretained):
                unretained._withUnsafeGuaranteedRef { connection in
                    runTimeSlice(connection, &input, &batch)
                    finishTimeSlice(connection)
                }
            case .nothing: break
            }
        }
    }

    /// Collects answers to the events from `next` on, and sends them.
    ///
    /// - Returns: the event behind them, when that is for nothing that can be collected. Connections
    ///   that ask for more than answers are left in ``gathered``.
    private func collectBatch(
        _ next: inout Int, _ count: Int, in snapshot: borrowing Snapshot,
        _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) -> Due {
        batch.reset()
        var alone = Due.nothing
        var hasRest = false
        while next < count, collected.count < DaemonLimits.batchConnectionCountMax,
            !batch.isFull
        {
            let due = takeEvent(&next)
            if case .nothing = due { continue }
            guard case .connection(let connection) = due,
                connection._withUnsafeGuaranteedRef({ collect($0, in: snapshot, &input, &batch) })
            else {
                alone = due
                break
            }
            // Linking takes longer than waking, and the pages of one answer fill a socket.
            if batch.section.isLinked { break }
        }
        for index in 0..<collected.count {
            let one = collected[index]
            if case .nothing = one.rest {} else { hasRest = true }
            var budget = DaemonLimits.timeSliceByteCountMax
            one.connection._withUnsafeGuaranteedRef {
                send(one.answers, of: batch, to: $0, in: snapshot, &budget)
            }
        }
        if hasRest { return alone }
        for index in 0..<collected.count {
            collected[index].connection._withUnsafeGuaranteedRef { finishTimeSlice($0) }
        }
        collected.removeAll()
        return alone
    }

    /// What an event is for.
    private enum Due {
        case messages
        case connection(Unmanaged<Connection>)
        case nothing
    }

    /// Takes note of the event `next`.
    @inline(__always)
    private func takeEvent(_ next: inout Int) -> Due {
        let event = poller.event(next)
        next += 1
        let token = ConnectionToken(rawValue: event.token)
        if token == .worker { return .messages }
        guard let connection = connections.unretained(token),
            connection._withUnsafeGuaranteedRef({ note(event, of: $0) })
        else { return .nothing }
        return .connection(connection)
    }

    /// Takes note of an event.
    ///
    /// - Returns: whether the connection runs now.
    private func note(_ event: Poller.Event, of connection: Connection) -> Bool {
        connection.state.polled(
            isReadable: event.isReadable, isEnd: event.isEnd, isHangUp: event.isHangUp,
            isWatchingInput: connection.interest.contains(.input))
        guard !connection.state.isBroken else {
            finishTimeSlice(connection)
            return false
        }
        return !connection.isQueued
    }

    /// Reads from a connection that waits for requests, and answers those that came.
    ///
    /// - Returns: false when it needs a time slice of its own: it is in the middle of something, or at
    ///   its end.
    private func collect(
        _ connection: Connection, in snapshot: borrowing Snapshot, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) -> Bool {
        guard case .head = connection.state.phase, connection.state.input.mayRead,
            connection.output.isEmpty,
            connection.rest.isEmpty, !connection.state.isEnding, !connection.state.isBroken,
            !connection.state.hasInputEnded
        else { return false }
        read(connection, &input)
        guard !input.isEmpty else { return !connection.state.hasInputEnded }
        batch.beginSection()
        let step = fill(&batch, from: &input, of: connection, in: snapshot)
        if collected.isEmpty, batch.section.isEmpty, step.isOfWriter {
            followAtOnce(step, connection, &input, &batch)
            return true
        }
        keepRest(of: &input, for: connection)
        collected.append(
            CollectedConnection(
                connection: .passUnretained(connection), answers: batch.section,
                rest: rest(of: step)))
        return true
    }

    /// Does what a change asks for while its bytes are here, which saves keeping a copy of them.
    ///
    /// - Parameter batch: nobody's answers are in it.
    private func followAtOnce(
        _ step: RequestHandler.Step, _ connection: Connection, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) {
        if follow(step, connection, &batch), connection.output.isEmpty,
            case .body(let upload) = connection.state.phase
        {
            _ = receive(upload, connection, &input, &batch)
        }
        if !input.isEmpty { connection.state.hasUnusedInput = true }
        keepRest(of: &input, for: connection)
        batch.reset()
        finishTimeSlice(connection)
    }

    @inline(__always)
    private func rest(of step: RequestHandler.Step) -> CollectedConnection.Rest {
        switch step {
        case .needsInput: return .nothing
        case .answered: return .look
        default:
            collectedSteps.append(step)
            return .step(collectedSteps.count - 1)
        }
    }

    /// Does what the requests ask for besides their answers.
    private func finishCollected(_ input: inout InputBuffer, _ batch: inout AnswerBatch) {
        guard !collected.isEmpty else { return }
        for index in 0..<collected.count {
            let connection = collected[index].connection.takeUnretainedValue()
            let step =
                switch collected[index].rest {
                case .nothing: RequestHandler.Step.needsInput
                case .look: RequestHandler.Step.answered
                case .step(let number): collectedSteps[number]
                }
            if !connection.state.isBroken, follow(step, connection, &batch) {
                runTimeSlice(connection, &input, &batch)
            }
            finishTimeSlice(connection)
        }
        collected.removeAll()
        collectedSteps.removeAll(keepingCapacity: true)
    }
}
