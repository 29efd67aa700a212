import BlobProtocol
import BlobStore

// Waiting for an owner's changes. A waiting connection takes no thread and no snapshot: it has a
// place in the store's `FeedWatch`, whose word comes as a message. Then it looks, in a snapshot of
// that moment, one page a time slice, and registers again where it has seen all there is.

extension Worker {
    // MARK: - Waits

    /// Answers with what has changed behind a place, or waits for it.
    ///
    /// - Returns: whether there may be more to do with the input right away.
    func beginWait(
        _ query: FeedQuery, _ form: PendingReply.Form, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) -> Bool {
        let reader = FeedReader(
            query, form, end: now.after(milliseconds: query.waitSeconds * 1_000))
        connection.state.enter(.awaitingFeed(reader))
        lookAgain(reader, connection, &batch)
        if case .head = connection.state.phase { return !connection.state.isEnding }
        return false
    }

    /// Looks behind a wait's cursor once, and answers when there is something or the time is over.
    func lookAgain(
        _ reader: FeedReader, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        reader.isDue = false
        do throws(ProtocolError) {
            try handler.requireAnswerMemory()
            let page = try handler.look(reader)
            if !page.changes.isEmpty || now >= reader.end || isStopping {
                return endWait(reader, connection, &batch) {
                    handler.answer(reader.form, with: page, of: reader.query.owner, into: &$0)
                }
            }
            try register(reader, behind: page, connection)
        } catch {
            endWait(reader, connection, &batch) {
                handler.refuse(reader.form, error, into: &$0)
            }
        }
    }

    private func endWait(
        _ reader: FeedReader, _ connection: Connection, _ batch: inout AnswerBatch,
        _ fill: (inout AnswerBatch) -> Void
    ) {
        reader.registration = nil
        connection.state.enter(.head)
        if case .http(let form) = reader.form, !form.keepAlive || isStopping {
            connection.state.endAfterOutput()
        }
        answer(connection, &batch, fill)
        // What was sent behind the request had to wait, too.
        connection.state.hasUnusedInput = !connection.rest.isEmpty && !connection.state.isEnding
    }

    /// Registers behind a page that was looked at; what there may be already is looked at in the
    /// connection's next turn.
    private func register(
        _ reader: FeedReader, behind page: FeedPage, _ connection: Connection
    ) throws(ProtocolError) {
        guard !page.hasMore else {
            reader.isDue = true
            return
        }
        do throws(StoreError) {
            let registration = try reader.register(
                with: environment.store.feedWatch, for: connection.address, connection.peer)
            reader.isDue = !registration.wait(behind: page.revision)
        } catch {
            throw handler.problem(error)
        }
    }

    // MARK: - Streams

    /// Begins to send an owner's changes, those that are there and those that come.
    ///
    /// - Returns: whether there may be more to do with the input right away.
    func beginStream(
        _ query: FeedQuery, _ form: PendingReply.Form, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) -> Bool {
        var query = query
        if case .http = form { query.limit = DaemonLimits.eventCountMax }
        // The first answer comes at once, even if it is empty.
        let reader = FeedReader(query, form, end: now)
        connection.state.enter(.streaming(reader))
        continueStream(reader, connection, &batch)
        if case .head = connection.state.phase { return !connection.state.isEnding }
        return false
    }

    /// Looks behind a stream's cursor once, and sends what there is, or a heartbeat when that is
    /// due. Only when everything before has left: a slow reader gets later states, not a queue.
    func continueStream(
        _ reader: FeedReader, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        guard connection.output.isEmpty, !connection.state.isBroken else { return }
        reader.isDue = false
        do throws(ProtocolError) {
            guard !isStopping else { throw .stopping }
            if reader.isBegun, answerMemory.isUsedUp {
                // It is looked at again at the next tick.
                reader.end = now
                return
            }
            try handler.requireAnswerMemory()
            do throws(StoreError) {
                // Before the first answer, so that it can still be refused.
                _ = try reader.register(
                    with: environment.store.feedWatch, for: connection.address, connection.peer)
            } catch {
                throw handler.problem(error)
            }
            let page = try handler.look(reader)
            if !page.changes.isEmpty || now >= reader.end {
                reader.end = now.after(milliseconds: environment.limits.heartbeatMilliseconds)
                answer(connection, &batch) { handler.appendStream(reader, page, into: &$0) }
                reader.isBegun = true
            }
            try register(reader, behind: page, connection)
        } catch {
            endStream(reader, error, connection, &batch)
        }
    }

    /// Says why a stream ends, and ends it; one that has not begun is refused like any request.
    private func endStream(
        _ reader: FeedReader, _ error: ProtocolError, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) {
        reader.registration = nil
        connection.state.enter(.head)
        connection.state.endAfterOutput()
        answer(connection, &batch) { handler.endStream(reader, error, into: &$0) }
    }

    // MARK: - Both

    /// An owner's feed has changed, or a reader's time is over.
    func continueFeed(_ connection: Connection, _ batch: inout AnswerBatch) {
        switch connection.state.phase {
        case .awaitingFeed(let reader): lookAgain(reader, connection, &batch)
        case .streaming(let reader):
            // When its output has left.
            reader.isDue = true
            continueStream(reader, connection, &batch)
        default: break
        }
    }
}
