import BlobProtocol
import CLinux

// Answers to requests whose outcome comes later than the request: changes, waits, bodies that are
// refused.

extension Worker {
    /// Answers the request that a connection is in the middle of. The connection continues with the next
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

    /// Refuses the request that a connection is in the middle of, and ends the connection after the answer.
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

// The memory of unread answers. `AnswerMemory` has the rules.

extension Worker {
    /// A connection that holds no more unread bytes than this is not closed for lack of memory: heads of payloads.
    private static let heldByteCountFree = 4 << 10
    /// How long a client may read nothing while memory for answers is short.
    private static let stalledMilliseconds = 1_000

    /// Takes note of what a connection holds. The connection ends if it holds more than before while too
    /// much is held in all.
    func account(_ connection: Connection) {
        let held = connection.unreadByteCount
        let difference = held - connection.heldByteCount
        guard difference != 0 else { return }
        if connection.heldByteCount == 0 {
            connection.lastProgress = (connection.progress, now)
        }
        connection.heldByteCount = held
        answerMemory.change(by: difference)
        if difference > 0, held > Self.heldByteCountFree, answerMemory.isExceeded {
            endForMemory(connection)
        }
    }

    func releaseHeld(_ connection: Connection) {
        answerMemory.change(by: -connection.heldByteCount)
        connection.heldByteCount = 0
    }

    /// At each tick: ends clients that read nothing while memory is short, and returns free memory to
    /// the system.
    func checkAnswerMemory() {
        if answerMemory.byteCountHeld > 0 { noteProgress() }
        if answerMemory.isShort { endStalledReaders() }
        // Costs some milliseconds where much was held.
        if answerMemory.takeShouldTrim(asOf: now) { clinux_trim_memory() }
    }

    private func noteProgress() {
        for connection in connections.all where connection.heldByteCount > 0 {
            let progress = connection.progress
            if progress != connection.lastProgress.byteCount {
                connection.lastProgress = (progress, now)
            }
        }
    }

    /// Ends connections that have read nothing for a while, until memory is not short any more. The one
    /// that has read nothing for the longest time comes first.
    private func endStalledReaders() {
        var stalled = connections.all.filter { connection in
            connection.heldByteCount > Self.heldByteCountFree
                && now.milliseconds(since: connection.lastProgress.at)
                    >= Self.stalledMilliseconds
        }
        stalled.sort { $0.lastProgress.at < $1.lastProgress.at }
        for connection in stalled {
            guard answerMemory.isShort else { return }
            endForMemory(connection)
            finishTimeSlice(connection)
        }
    }

    private func endForMemory(_ connection: Connection) {
        counters.unreadEnds.add()
        connection.state.fail()
    }
}
