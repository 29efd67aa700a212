import BlobProtocol
import BlobStore

// A body's way in: memory, bytes, the writer, the answer.

extension Worker {
    /// Finds memory for a body that is to come.
    ///
    /// - Returns: whether its bytes can be taken in now.
    func admit(_ upload: Upload, _ connection: Connection) -> Bool {
        let granted = environment.bodyMemory.reserve(
            upload.memoryByteCount, bodyCount: upload.bodyCount, for: connection.address)
        guard let granted else {
            connection.phase = .awaitingMemory(upload)
            return false
        }
        begin(upload, granted, connection)
        return true
    }

    /// The memory that a connection waited for is there.
    func beginBody(
        _ connection: Connection, _ reservation: BodyReservation, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) {
        guard case .awaitingMemory(let upload) = connection.phase else { return }
        begin(upload, reservation, connection)
        takeTurn(connection, &input, &batch)
    }

    private func begin(
        _ upload: Upload, _ reservation: BodyReservation, _ connection: Connection
    ) {
        upload.begin(environment.store, reservation)
        connection.phase = .body(upload)
        // Everything in the head has been checked, and there is room: the client may send.
        guard upload.expectsContinue else { return }
        HTTPResponseHead.interimContinue.withUTF8Buffer {
            connection.output.append(Array($0)[...])
        }
        connection.isBlocked = false
    }

    /// Takes in what there is of a body.
    ///
    /// - Returns: whether there may be more to do with the input right away.
    func receive(
        _ upload: Upload, _ connection: Connection, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) -> Bool {
        do throws(BodyFailure) {
            let used = try upload.receive(input.bytes)
            input.consume(used)
        } catch {
            refuse(upload, error, connection, &batch)
            return true
        }
        guard upload.isComplete else { return false }
        finish(upload, connection, &batch)
        return true
    }

    /// The body cannot be taken. Where its end is known the rest of it is thrown away and the
    /// connection goes on, if the dialect allows that; else it ends.
    private func refuse(
        _ upload: Upload, _ failure: BodyFailure, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) {
        let error: ProtocolError
        switch failure {
        case .wire(let wire): error = wire
        case .store(let store): error = handler.problem(store)
        }
        upload.abandon()
        if case .binary = upload.reply.form, let missing = upload.missingByteCount {
            connection.phase = .skipping(missing)
            answer(connection, &batch) { handler.refuse(upload.reply, error, into: &$0) }
        } else {
            close(connection, upload.reply, error, &batch)
        }
    }

    /// The body is complete: read it here if it is short, elsewhere if that may take long.
    private func finish(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        connection.phase = .awaitingChange(upload.reply)
        switch upload.purpose {
        case .payload(let draft): finish(upload, .publish(draft), connection)
        case .resource(let plan):
            finish(upload, plan, connection, &batch)
        }
    }

    /// Finishes a payload, here if it is short.
    private func finish(_ upload: Upload, _ use: PayloadUse, _ connection: Connection) {
        guard let writer = upload.takeWriter() else { return }
        let isShort =
            upload.byteCount <= DaemonLimits.inlineFinishByteCountMax
            || writer.finishesAtOnce(mediaType: use.mediaType)
        let reservation = upload.reservation.take()
        if isShort {
            environment.writer.submit(use, writer, for: connection.address, reservation)
        } else {
            environment.publishers.submit(
                PayloadJob(
                    use, writer, connection: connection.address, reservation: reservation))
        }
    }

    /// Reads what a resource takes: documents here, batches and files elsewhere.
    private func finish(
        _ upload: Upload, _ plan: BodyPlan, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        let reader = BodyReader(environment.limits)
        let body: BodyJob.Body
        do throws(ProtocolError) {
            switch plan.kind {
            case .heldBlob(let digest, let seconds, let mediaType):
                return finish(
                    upload, .hold(digest, ttlSeconds: seconds, mediaType: mediaType), connection)
            case .batch: body = .batch(upload.takeDocument())
            case .multipart:
                guard let received = try upload.takeMultipart()?.finish() else { return }
                body = .multipart(received)
            default:
                let operation = try reader.operation(upload.takeDocument(), plan)
                environment.writer.submit(
                    PendingChange(
                        operation: operation, connection: connection.address,
                        reservation: upload.reservation.take()))
                return
            }
        } catch {
            return refuseWhole(upload, error, connection, &batch)
        }
        environment.publishers.submit(
            BodyJob(
                body, plan, reader, connection: connection.address,
                reservation: upload.reservation.take()))
    }

    /// The body has been read to its end and is not taken: the connection goes on behind it.
    private func refuseWhole(
        _ upload: Upload, _ error: ProtocolError, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) {
        upload.abandon()
        connection.phase = .head
        if case .http(let form) = upload.reply.form, !form.keepAlive || isStopping {
            connection.isEnding = true
        }
        answer(connection, &batch) { handler.refuse(upload.reply, error, into: &$0) }
    }

    /// The writer is done with a connection's change: answer, and go on with its input.
    func finishChange(
        _ connection: Connection, _ result: ChangeResult, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) {
        if case .awaitingCommit = connection.phase {
            return goOn(connection, result, &input, &batch)
        }
        guard case .awaitingChange(let reply) = connection.phase else { return }
        connection.phase = .head
        if case .http(let form) = reply.form, !form.keepAlive || isStopping {
            connection.isEnding = true
        }
        answer(connection, &batch) { handler.answer(reply, with: result, into: &$0) }
        if !connection.isBroken, connection.output.isEmpty, !connection.isEnding {
            takeTurn(connection, &input, &batch)
        }
    }

    /// What a connection waited for is committed.
    private func goOn(
        _ connection: Connection, _ result: ChangeResult, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) {
        guard case .settled = result else {
            // The daemon stops; what it would say may be older than what it has said.
            connection.isBroken = true
            return
        }
        handler.hasWaited = true
        connection.phase = .head
        takeTurn(connection, &input, &batch)
        handler.hasWaited = false
    }

    // MARK: - Endings

    /// Sends an answer that needs no snapshot of its own.
    func answer(
        _ connection: Connection, _ batch: inout AnswerBatch, _ fill: (inout AnswerBatch) -> Void
    ) {
        batch.reset()
        fill(&batch)
        var budget = DaemonLimits.turnByteCountMax
        connection.deadline.restart(now: now)
        sender.sendPlain(batch, to: connection, budget: &budget)
    }

    private func close(
        _ connection: Connection, _ reply: PendingReply, _ error: ProtocolError,
        _ batch: inout AnswerBatch
    ) {
        var reply = reply
        if case .http(var form) = reply.form {
            form.keepAlive = false
            reply = PendingReply(request: reply.request, form: .http(form))
        }
        connection.phase = .head
        connection.isEnding = true
        answer(connection, &batch) { handler.refuse(reply, error, into: &$0) }
    }

    /// A head or a body took too long: HTTP says so (408), and the connection ends.
    func refuseLate(_ connection: Connection, _ batch: inout AnswerBatch) {
        refuse(
            connection, ProtocolError(.timeout, "the request took too long to arrive"), &batch)
    }

    /// The peer sends no more, in the middle of a request.
    func refuseUnfinished(_ connection: Connection, _ batch: inout AnswerBatch) {
        if case .body = connection.phase {
            refuse(
                connection, ProtocolError(.bodyMismatch, "the body is shorter than was said"),
                &batch)
        } else {
            refuse(connection, ProtocolError(.malformed, "the request is not whole"), &batch)
        }
    }

    private func refuse(
        _ connection: Connection, _ error: ProtocolError, _ batch: inout AnswerBatch
    ) {
        let form = HTTPForm(keepAlive: false, isHTTP10: false, isHead: false)
        var reply = PendingReply(request: .delete, form: .http(form))
        if case .body(let upload) = connection.phase {
            reply = upload.reply
            upload.abandon()
        } else if connection.dialect == .binary {
            // No whole header, so nothing to name in an answer.
            connection.isBroken = true
            return
        }
        close(connection, reply, error, &batch)
    }
}
