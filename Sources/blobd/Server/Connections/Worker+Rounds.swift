import BlobProtocol
import BlobStore

// What a wake-up brings: the requests of several connections are read and answered one after the
// other, in one snapshot, and then all answers are sent. A client that serves many connections, as a
// backend's process does, is woken once and finds several answers, where answers sent one by one
// would each wake it anew, which takes the kernel as long as a fetch.

/// A connection whose answers are in the batch.
struct GatheredConnection {
    let connection: Connection
    let answers: AnswerBatch.Section
    /// What became of its input.
    let step: RequestHandler.Step
}

extension Worker {
    /// Serves the events from `next` on, of `count`: as many connections as are answered together,
    /// or one thing that is not.
    func serveRound(
        _ next: inout Int, _ count: Int, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) {
        batch.reset()
        var alone = Due.nothing
        do throws(StoreError) {
            let snapshot = try environment.store.makeSnapshot()
            while next < count, gathered.count < DaemonLimits.gatheredConnectionCountMax,
                !batch.isFull
            {
                let due = takeEvent(&next)
                if case .nothing = due { continue }
                guard case .connection(let connection) = due,
                    gather(connection, in: snapshot, &input, &batch)
                else {
                    alone = due
                    break
                }
                // Linking takes longer than waking, and the pages of one answer fill a socket.
                if batch.section.isLinked { break }
            }
            for one in gathered {
                var budget = DaemonLimits.turnByteCountMax
                send(one.answers, of: batch, to: one.connection, in: snapshot, &budget)
            }
        } catch {
            // No snapshot, so nothing was read: its own turn meets the same, and says so.
            alone = takeEvent(&next)
        }
        finishGathered(&input, &batch)
        switch alone {
        case .messages:
            for message in inbox.takeAll() { take(message, &input, &batch) }
        case .connection(let connection):
            takeTurn(connection, &input, &batch)
            settle(connection)
        case .nothing: break
        }
    }

    /// What an event is for.
    private enum Due {
        case messages
        case connection(Connection)
        case nothing
    }

    /// Takes note of the event `next`.
    private func takeEvent(_ next: inout Int) -> Due {
        let event = poller.event(next)
        next += 1
        let token = ConnectionToken(rawValue: event.token)
        if token == .worker { return .messages }
        guard let connection = connection(token), note(event, of: connection) else {
            return .nothing
        }
        return .connection(connection)
    }

    /// Takes note of an event.
    ///
    /// - Returns: whether the connection has its turn now.
    private func note(_ event: Poller.Event, of connection: Connection) -> Bool {
        // Nothing is read from it now, and nobody is there to read what it is sent: its end would
        // be reported for ever.
        if event.isHangUp, !connection.interest.contains(.input) {
            connection.isBroken = true
            settle(connection)
            return false
        }
        if event.isReadable || event.isHangUp { connection.mayRead = true }
        if event.isEnd || event.isHangUp { connection.isEndNear = true }
        if event.isHangUp { connection.isHungUp = true }
        return !connection.isInLine
    }

    /// Reads from a connection that waits for requests, and answers those that came.
    ///
    /// - Returns: false when it needs a turn of its own: it is in the middle of something, or at
    ///   its end.
    private func gather(
        _ connection: Connection, in snapshot: borrowing Snapshot, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) -> Bool {
        guard case .head = connection.phase, connection.mayRead, connection.output.isEmpty,
            connection.rest.isEmpty, !connection.isEnding, !connection.isBroken,
            !connection.hasInputEnded
        else { return false }
        read(connection, &input)
        guard !input.isEmpty else { return !connection.hasInputEnded }
        batch.beginSection()
        let step = fill(&batch, from: &input, of: connection, in: snapshot)
        if !input.isEmpty {
            connection.rest = input.rest()
            input.consume(input.byteCount)
        }
        gathered.append(
            GatheredConnection(connection: connection, answers: batch.section, step: step))
        return true
    }

    /// Does what the requests ask for besides their answers.
    private func finishGathered(_ input: inout InputBuffer, _ batch: inout AnswerBatch) {
        for index in gathered.indices {
            let connection = gathered[index].connection
            if !connection.isBroken, follow(gathered[index].step, connection, &batch) {
                takeTurn(connection, &input, &batch)
            }
            settle(connection)
        }
        gathered.removeAll(keepingCapacity: true)
    }
}
