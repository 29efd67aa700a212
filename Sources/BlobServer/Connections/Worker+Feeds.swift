import BlobProtocol
import BlobStore

// A connection that waits for an owner's changes takes no thread and no snapshot: the store's `FeedWatch` posts a
// message when there are some. The worker then looks in a new snapshot, one page per time slice.

extension Worker {
    func continueFeed(_ connection: Connection, _ batch: inout AnswerBatch) {
        switch connection.state.phase {
        case .awaitingFeed(let reader): lookAgain(reader, connection, &batch)
        case .streaming(let reader):
            // Continues once its output is sent.
            reader.isDue = true
            continueStream(reader, connection, &batch)
        default: break
        }
    }

    /// Looks after a wait's cursor once. Answers if there are changes, or the time is up.
    func lookAgain(
        _ reader: FeedReader, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        reader.isDue = false
        do throws(ProtocolError) {
            if let refusal = handler.refusal(of: reader) { throw refusal }
            try handler.requireAnswerMemory()
            let page = try handler.look(reader)
            if !page.changes.isEmpty || now >= reader.end || isStopping {
                reader.registration = nil
                return endRequest(reader.form, connection, &batch) {
                    handler.answer(reader.form, with: page, of: reader.query.owner, into: &$0)
                }
            }
            try register(reader, after: page, connection)
        } catch {
            refuse(reader, error, connection, &batch)
        }
    }

    /// Sends the changes after a stream's cursor, or a heartbeat if one is due, once the previous output is sent: a
    /// slow reader gets later states, not a queue.
    func continueStream(
        _ reader: FeedReader, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        guard connection.output.isEmpty, !connection.state.isBroken else { return }
        reader.isDue = false
        do throws(ProtocolError) {
            guard !isStopping else { throw .stopping }
            if let refusal = handler.refusal(of: reader) { throw refusal }
            if reader.isBegun, answerMemory.isUsedUp {
                // The next tick looks again.
                reader.end = now
                return
            }
            try handler.requireAnswerMemory()
            // Comes before the first answer, because a stream that cannot register is refused.
            _ = try registration(of: reader, connection)
            let page = try handler.look(reader)
            if !page.changes.isEmpty || now >= reader.end {
                reader.end = now.after(milliseconds: limits.heartbeatMilliseconds)
                answer(connection, &batch) { handler.appendStream(reader, page, into: &$0) }
                reader.isBegun = true
            }
            try register(reader, after: page, connection)
        } catch {
            refuse(reader, error, connection, &batch)
        }
    }

    private func registration(
        of reader: FeedReader, _ connection: Connection
    ) throws(ProtocolError) -> FeedRegistration {
        try handler.asked(
            try reader.register(
                with: environment.context.store.feedWatch, for: connection.address,
                connection.peer))
    }

    /// If there are more changes already, the connection's next time slice looks at them.
    private func register(
        _ reader: FeedReader, after page: FeedPage, _ connection: Connection
    ) throws(ProtocolError) {
        guard !page.hasMore else {
            reader.isDue = true
            return
        }
        reader.isDue = !(try registration(of: reader, connection).wait(after: page.revision))
    }

    /// Called at each tick: ends a reader whose link is no longer valid, and looks again if its time is up. Returns
    /// whether something was done.
    func checkReader(
        _ reader: FeedReader, _ connection: Connection, _ batch: inout AnswerBatch
    ) -> Bool {
        if let refusal = handler.refusal(of: reader) {
            refuse(reader, refusal, connection, &batch)
        } else if now >= reader.end, connection.output.isEmpty {
            continueFeed(connection, &batch)
        } else {
            return false
        }
        return true
    }

    /// Ends a wait or a stream with its reason. A stream that has not begun is refused like any request.
    private func refuse(
        _ reader: FeedReader, _ error: ProtocolError, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) {
        reader.registration = nil
        if case .streaming = connection.state.phase {
            connection.state.endRequest(isLast: true)
            answer(connection, &batch) { handler.endStream(reader, error, into: &$0) }
        } else {
            endRequest(reader.form, connection, &batch) {
                handler.refuse(reader.form, error, into: &$0)
            }
        }
    }
}
