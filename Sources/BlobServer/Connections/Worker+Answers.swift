import BlobProtocol

// Answers to requests whose outcome comes later than the request: changes, waits, bodies that are
// refused.

extension Worker {
    /// Answers the request that a connection is in the middle of. The connection goes on with the next
    /// request, or ends where an HTTP client or the daemon's stop says so.
    func endRequest(
        _ form: PendingReply.Form, _ connection: Connection, _ batch: inout AnswerBatch,
        _ fill: (inout AnswerBatch) -> Void
    ) {
        var isLast = false
        if case .http(let form) = form.dialect { isLast = !form.keepAlive || isStopping }
        connection.state.endRequest(isLast: isLast)
        answer(connection, &batch, fill)
    }

    /// Refuses the request that a connection is in the middle of, and ends the connection behind the
    /// answer.
    func close(
        _ form: PendingReply.Form, _ error: ProtocolError, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) {
        connection.state.endRequest(isLast: true)
        answer(connection, &batch) { handler.refuse(form.last, error, into: &$0) }
    }

    /// Sends an answer that needs no snapshot of its own.
    func answer(
        _ connection: Connection, _ batch: inout AnswerBatch, _ fill: (inout AnswerBatch) -> Void
    ) {
        batch.reset()
        fill(&batch)
        var budget = TimeSlice.byteCountMax
        connection.deadline.restart(now: now)
        sender.sendPlain(batch, to: connection, budget: &budget)
    }

    /// A head or a body took too long. An HTTP client is told so (408), and the connection ends.
    func refuseLate(_ connection: Connection, _ batch: inout AnswerBatch) {
        refuseIncomplete(
            connection, ProtocolError(.timeout, "the request took too long to arrive"), &batch)
    }

    /// The peer sends no more, in the middle of a request.
    func refuseUnfinished(_ connection: Connection, _ batch: inout AnswerBatch) {
        let error: ProtocolError
        if case .body = connection.state.phase {
            error = ProtocolError(.bodyMismatch, "the body is shorter than announced")
        } else {
            error = ProtocolError(.malformed, "the request is incomplete")
        }
        refuseIncomplete(connection, error, &batch)
    }

    private func refuseIncomplete(
        _ connection: Connection, _ error: ProtocolError, _ batch: inout AnswerBatch
    ) {
        if case .body(let upload) = connection.state.phase {
            upload.abandon()
            close(upload.reply.form, error, connection, &batch)
        } else if connection.session.dialect == .binary {
            // Without a whole header, there is no request that an answer could name.
            connection.state.fail()
        } else {
            close(
                .http(.last, handler.observer.unknown(connection.session)), error, connection,
                &batch)
        }
    }
}
