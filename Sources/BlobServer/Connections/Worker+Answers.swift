import BlobProtocol
import BlobStore
import Logging

// Messages from other threads.

extension Worker {
    /// Returns the connection that can continue because of the message; nil: none.
    func receive(
        _ message: WorkerMessage, _ batch: inout AnswerBatch
    ) -> Unmanaged<Connection>? {
        switch message.content {
        case .accepted(let number, let peer, let isDevice): accept(number, peer, isDevice: isDevice)
        case .progressCheck: counters.progress.answer()
        case .stop: stopSoon(&batch)
        case .stopAtOnce: stop(within: 0, &batch)
        case .changed, .replicated, .feedChanged, .backupReady, .memoryGranted:
            guard let connection = connections.connection(message.token),
                mayServe(connection, after: message.content, &batch)
            else { break }
            return .passUnretained(connection)
        }
        return nil
    }

    /// Whether the connection is to be served because of the message. If not, it keeps waiting.
    private func mayServe(
        _ connection: Connection, after message: WorkerMessage.Content, _ batch: inout AnswerBatch
    ) -> Bool {
        switch message {
        case .changed(let result, let span):
            guard let result = awaitReplication(connection, result, span) else { return false }
            return finishChange(connection, result, &batch)
        case .replicated(let result): return finishChange(connection, result, &batch)
        case .feedChanged:
            continueFeed(connection, &batch)
            finishTimeSlice(connection)
            return false
        case .backupReady:
            guard case .sendingBackup(let answer) = connection.state.phase else { return false }
            answer.isDue = true
            return true
        case .memoryGranted:
            guard case .awaitingMemory(let upload) = connection.state.phase else { return false }
            connection.state.enter(.body(upload))
            return true
        case .accepted, .progressCheck, .stop, .stopAtOnce: return false
        }
    }

    /// Lets a connection wait until its change is in the bucket, if it asked for that. Returns the answer if it is
    /// known; nil: the connection waits.
    private func awaitReplication(
        _ connection: Connection, _ result: ChangeResult, _ span: BatchSpan
    ) -> ChangeResult? {
        guard case .awaitingChange(let reply) = connection.state.phase,
            reply.form.acknowledgement == .replicated, result.tellsState
        else { return result }
        return environment.context.replica.awaitBucket(
            result, in: span, for: connection.address, asOf: now)
    }

    private func accept(_ number: Int32, _ peer: Peer, isDevice: Bool) {
        guard let descriptor = try? OwnedDescriptor(taking: number, from: "accept4"), !isStopping
        else { return counters.countConnection(isDevice: isDevice, by: -1) }
        let token = connections.reserve()
        let connection = Connection(
            Socket(descriptor), address: ConnectionAddress(inbox: inbox, token: token),
            peer: peer, store: environment.context.store, now: now)
        connection.session.isDevice = isDevice
        connection.session.userID = peer.userID
        do {
            try poller.add(
                connection.socket.number, token: token.rawValue, connection.state.interest.edges)
        } catch {
            environment.context.log.error("Cannot serve a connection: \(error)")
            counters.countConnection(isDevice: isDevice, by: -1)
            connections.release(token)
            return
        }
        connections.insert(connection)
    }

    /// Returns whether the connection's next request can be answered.
    private func finishChange(
        _ connection: Connection, _ result: ChangeResult, _ batch: inout AnswerBatch
    ) -> Bool {
        switch connection.state.phase {
        case .awaitingChange(let reply):
            endRequest(reply.form, connection, &batch) {
                handler.answer(reply, with: result, into: &$0)
            }
        case .awaitingCommit:
            if case .committed = result {
                connection.session.wait = .done
            } else {
                connection.session.wait = .inVain
            }
            connection.state.endRequest(isLast: false)
        default: break
        }
        if connection.mayAnswer { return true }
        finishTimeSlice(connection)
        return false
    }
}

// Answers to requests whose outcome arrives later.

extension Worker {
    /// Answers the request that a connection waits for, and continues with the next one if that is allowed.
    func endRequest(
        _ form: PendingReply.Form, _ connection: Connection, _ batch: inout AnswerBatch,
        _ fill: (inout AnswerBatch) -> Void
    ) {
        var isLast = false
        if case .http(let form) = form.dialect { isLast = !form.keepAlive || isStopping }
        connection.state.endRequest(isLast: isLast)
        answer(connection, &batch, fill)
    }

    func close(
        _ form: PendingReply.Form, _ error: ProtocolError, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) {
        connection.state.endRequest(isLast: true)
        answer(connection, &batch) { handler.refuse(form.last, error, into: &$0) }
    }

    func answer(
        _ connection: Connection, _ batch: inout AnswerBatch, _ fill: (inout AnswerBatch) -> Void
    ) {
        batch.reset()
        fill(&batch)
        var budget = TimeSlice.byteCountMax
        connection.deadline.restart(now: now)
        sender.sendPlain(batch, to: connection, budget: &budget)
    }

    /// A head or a body took too long. An HTTP client gets a 408, and the connection ends. A request whose body is
    /// discarded has its answer already: the client would take a second one for the answer to its next request.
    func refuseLate(_ connection: Connection, _ batch: inout AnswerBatch) {
        if case .skipping = connection.state.phase { return connection.state.endAfterOutput() }
        refuseIncomplete(
            connection, ProtocolError(.timeout, "the request took too long to arrive"), &batch)
    }

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
            // Without a whole header, there is no request id to answer.
            connection.state.fail()
        } else {
            close(
                .http(.last, handler.observer.unknown(connection.session)), error, connection,
                &batch)
        }
    }
}
