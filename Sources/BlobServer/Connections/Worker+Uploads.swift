import BlobProtocol
import BlobStore

// A body's way in: memory, bytes, the writer, the answer.

extension Worker {
    /// A body is to come.
    ///
    /// - Returns: whether its bytes can be taken in now.
    func admit(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch
    ) -> Bool {
        let reservation = BodyReservation(
            of: environment.bodyMemory, connection.peer, for: connection.address)
        upload.begin(environment.store, reservation, asOf: now)
        connection.state.enter(.body(upload))
        // A client that asks first is not told to send what there is no room for.
        return !upload.expectsContinue || invite(upload, connection, &batch)
    }

    /// Tells a client that asked for it to send its body: everything in the head has been checked,
    /// and there is room for its beginning.
    ///
    /// - Returns: whether there may be more to do with the input right away.
    private func invite(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch
    ) -> Bool {
        guard
            makeRoom(
                upload, connection, &batch,
                { (upload) throws(BodyFailure) in
                    try upload.makeRoom(for: DaemonLimits.bodyPieceByteCountMin)
                })
        else { return false }
        upload.hasContinued = true
        HTTPResponseHead.interimContinue.withUTF8Buffer {
            connection.output.append(Array($0)[...])
        }
        connection.output.isBlocked = false
        return true
    }

    /// The memory that a connection waited for is there.
    func continueBody(
        _ connection: Connection, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) {
        guard case .awaitingMemory(let upload) = connection.state.phase else { return }
        connection.state.enter(.body(upload))
        if upload.expectsContinue, !upload.hasContinued, !invite(upload, connection, &batch) {
            return
        }
        runTimeSlice(connection, &input, &batch)
    }

    /// Has a body reserve what it needs, or wait for that, or refuses it.
    ///
    /// - Returns: whether it has it: the body goes on.
    private func makeRoom(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch,
        _ reserve: (Upload) throws(BodyFailure) -> BodyMemory.Need?
    ) -> Bool {
        do throws(BodyFailure) {
            while let need = try reserve(upload) {
                switch upload.reservation?.wait(for: need) {
                case .granted, nil: continue
                case .waiting:
                    upload.waitEnd = now.after(milliseconds: upload.waitMilliseconds)
                    connection.state.enter(.awaitingMemory(upload))
                    return false
                case .refused: throw .wire(.noBodyMemory(environment.bodyMemory.limits))
                }
            }
            return true
        } catch {
            refuse(upload, error, connection, &batch)
            return false
        }
    }

    /// Takes in what there is of a body.
    ///
    /// - Returns: whether there may be more to do with the input right away.
    func receive(
        _ upload: Upload, _ connection: Connection, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) -> Bool {
        if !upload.isComplete {
            let count = input.byteCount
            guard
                makeRoom(
                    upload, connection, &batch,
                    { (upload) throws(BodyFailure) in
                        try upload.makeRoom(for: count)
                    })
            else { return !isAwaitingMemory(connection) }
            do throws(BodyFailure) {
                let used = try upload.receive(input.bytes)
                input.consume(used)
            } catch {
                refuse(upload, error, connection, &batch)
                return true
            }
        }
        guard upload.isComplete else { return false }
        guard makeRoom(upload, connection, &batch, { (upload) in upload.makeRoomToFinish() })
        else { return !isAwaitingMemory(connection) }
        finish(upload, connection, &batch)
        return true
    }

    private func isAwaitingMemory(_ connection: Connection) -> Bool {
        if case .awaitingMemory = connection.state.phase { return true }
        return false
    }

    /// A body has waited for as long as it may.
    func refuseWaiting(_ connection: Connection, _ batch: inout AnswerBatch) {
        guard case .awaitingMemory(let upload) = connection.state.phase,
            // Else it has just been granted what it waits for, and hears of that next.
            upload.reservation?.cancel() ?? true
        else { return }
        refuseForMemory(upload, connection, &batch)
    }

    /// Takes memory and files back from bodies that hardly move, while others wait for some: what
    /// is in memory goes to files; where there is none, the body is refused.
    func relieve(_ batch: inout AnswerBatch) {
        guard environment.bodyMemory.isWanted else { return }
        var wanted = environment.bodyMemory.wanted
        var stalled: [(connection: Connection, upload: Upload)] = []
        for connection in connections.all {
            // What it has sent and nobody has read yet is not its fault.
            guard case .body(let upload) = connection.state.phase, upload.isStalled(asOf: now),
                !connection.state.input.mayRead, !connection.isQueued
            else { continue }
            stalled.append((connection, upload))
        }
        // So that as few as possible suffer; of equals who has not moved for the longest time.
        stalled.sort {
            ($1.upload.reservedByteCount, $0.upload.pace.since)
                < ($0.upload.reservedByteCount, $1.upload.pace.since)
        }
        for (connection, upload) in stalled.prefix(DaemonLimits.relievedBodyCountMax)
        where !wanted.isNothing {
            let held = upload.reservedByteCount
            let spools = upload.reservation?.spoolCount ?? 0
            guard (wanted.byteCount > 0 && held > 0) || (wanted.spoolCount > 0 && spools > 0) else {
                continue
            }
            if wanted.byteCount > 0, held > DaemonLimits.bodyPieceByteCountMin {
                var given = 0
                do throws(BodyFailure) {
                    given = try upload.releaseMemory()
                } catch {
                    refuse(upload, error, connection, &batch)
                    endRefusal(connection)
                    continue
                }
                wanted.byteCount -= given
                if given > 0 { continue }
            }
            wanted.byteCount -= held
            wanted.spoolCount -= spools
            refuseForMemory(upload, connection, &batch)
        }
    }

    private func refuseForMemory(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        refuse(
            upload, .wire(.noBodyMemory(environment.bodyMemory.limits)), connection, &batch)
        endRefusal(connection)
    }

    /// Behind a refusal that did not come in the connection's time slice.
    private func endRefusal(_ connection: Connection) {
        // What was read of the body, and requests behind it.
        connection.state.hasUnusedInput = !connection.rest.isEmpty && !connection.state.isEnding
        finishTimeSlice(connection)
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
        if upload.isComplete { return refuseWhole(upload, error, connection, &batch) }
        upload.abandon()
        if case .binary = upload.reply.form, let missing = upload.missingByteCount {
            connection.state.enter(.skipping(missing))
            answer(connection, &batch) { handler.refuse(upload.reply.form, error, into: &$0) }
        } else {
            close(connection, upload.reply.form, error, &batch)
        }
    }

    /// The body is complete: read it here if it is short, elsewhere if that may take long.
    private func finish(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        connection.state.enter(.awaitingChange(upload.reply))
        switch upload.plan.kind {
        case .payload(let draft):
            do throws(ProtocolError) {
                // The length of a chunked body is known now; that of what is inside a gzip coding,
                // which is not judged here, when it is decoded.
                if upload.coding == .identity {
                    try draft.check(byteCount: UInt64(upload.byteCount))
                }
            } catch {
                return refuseWhole(upload, error, connection, &batch)
            }
            finish(upload, .publish(draft), connection)
        default: finish(upload, upload.plan, connection, &batch)
        }
    }

    /// Finishes a payload, here if it is short.
    private func finish(_ upload: Upload, _ use: PayloadUse, _ connection: Connection) {
        guard let writer = upload.takePayload() else { return }
        // What little bytes of a gzip coding become may be much.
        let isShort =
            (upload.coding == .identity
                && upload.byteCount <= DaemonLimits.inlineFinishByteCountMax)
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
            case .batch:
                guard let document = upload.takeDocument() else { return }
                body = .batch(IncomingDocument(document))
            case .multipart:
                guard let received = try upload.takeMultipart()?.finish() else { return }
                body = .multipart(received)
            default:
                guard let document = upload.takeDocument() else { return }
                let bytes: [UInt8]
                do throws(StoreError) {
                    bytes = try document.finish()
                } catch {
                    throw handler.problem(error)
                }
                let operation = try reader.operation(bytes, plan)
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
        connection.state.enter(.head)
        if case .http(let form) = upload.reply.form, !form.keepAlive || isStopping {
            connection.state.endAfterOutput()
        }
        answer(connection, &batch) { handler.refuse(upload.reply.form, error, into: &$0) }
    }

    /// The writer is done with a connection's change: answer, and go on with its input.
    func finishChange(
        _ connection: Connection, _ result: ChangeResult, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) {
        if case .awaitingCommit = connection.state.phase {
            return goOn(connection, result, &input, &batch)
        }
        guard case .awaitingChange(let reply) = connection.state.phase else { return }
        connection.state.enter(.head)
        if case .http(let form) = reply.form, !form.keepAlive || isStopping {
            connection.state.endAfterOutput()
        }
        answer(connection, &batch) { handler.answer(reply, with: result, into: &$0) }
        if !connection.state.isBroken, connection.output.isEmpty, !connection.state.isEnding {
            runTimeSlice(connection, &input, &batch)
        }
    }

    /// What a connection waited for is committed.
    private func goOn(
        _ connection: Connection, _ result: ChangeResult, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) {
        guard case .committed = result else {
            // The daemon stops; what it would say may be older than what it has said.
            connection.state.fail()
            return
        }
        connection.session.hasWaited = true
        connection.state.enter(.head)
        runTimeSlice(connection, &input, &batch)
    }

    // MARK: - Endings

    /// Sends an answer that needs no snapshot of its own.
    func answer(
        _ connection: Connection, _ batch: inout AnswerBatch, _ fill: (inout AnswerBatch) -> Void
    ) {
        batch.reset()
        fill(&batch)
        var budget = DaemonLimits.timeSliceByteCountMax
        connection.deadline.restart(now: now)
        sender.sendPlain(batch, to: connection, budget: &budget)
    }

    private func close(
        _ connection: Connection, _ form: PendingReply.Form, _ error: ProtocolError,
        _ batch: inout AnswerBatch
    ) {
        connection.state.enter(.head)
        connection.state.endAfterOutput()
        answer(connection, &batch) { handler.refuse(form.last, error, into: &$0) }
    }

    /// A head or a body took too long: HTTP says so (408), and the connection ends.
    func refuseLate(_ connection: Connection, _ batch: inout AnswerBatch) {
        refuse(
            connection, ProtocolError(.timeout, "the request took too long to arrive"), &batch)
    }

    /// The peer sends no more, in the middle of a request.
    func refuseUnfinished(_ connection: Connection, _ batch: inout AnswerBatch) {
        if case .body = connection.state.phase {
            refuse(
                connection, ProtocolError(.bodyMismatch, "the body is shorter than announced"),
                &batch)
        } else {
            refuse(connection, ProtocolError(.malformed, "the request is incomplete"), &batch)
        }
    }

    private func refuse(
        _ connection: Connection, _ error: ProtocolError, _ batch: inout AnswerBatch
    ) {
        var form = PendingReply.Form.http(.last)
        if case .body(let upload) = connection.state.phase {
            form = upload.reply.form
            upload.abandon()
        } else if connection.session.dialect == .binary {
            // No whole header, so nothing to name in an answer.
            connection.state.fail()
            return
        }
        close(connection, form, error, &batch)
    }
}
