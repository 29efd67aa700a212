import BlobProtocol
import BlobStore
import Notifications

// A body's way from the socket to the writer: memory, bytes, a job.

extension Worker {
    /// Payloads up to this size are finished on the worker; longer ones, which may take long to compress, elsewhere. What
    /// is in memory and not compressed at all is finished on the worker, too: that takes less than waking another thread.
    private static let inlineFinishByteCountMax = 4 << 10

    /// Begins to receive a body.
    func receiveBody(of upload: Upload, _ connection: Connection) {
        let reservation = BodyReservation(
            of: environment.bodyMemory, connection.peer, for: connection.address)
        upload.begin(environment.store, reservation, asOf: now)
        connection.state.enter(.body(upload))
    }

    /// Takes in what there is of a body, and submits it when it is complete.
    func receive(
        _ upload: Upload, _ connection: Connection, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) -> TimeSlice.Progress {
        do throws(BodyFailure) {
            if upload.expectsContinue, !upload.hasContinued {
                // A client that asks first is told to send when there is room for its first bytes.
                guard
                    try hasRoom(
                        upload, connection,
                        try upload.makeRoom(for: Upload.pieceByteCountMin))
                else { return .waits }
                upload.hasContinued = true
                answer(connection, &batch) {
                    HTTPResponseHead.prepared(HTTPResponseHead.interimContinue, into: &$0.heads)
                    $0.endAnswer()
                }
                return .goesOn
            }
            if !upload.isComplete {
                guard
                    try hasRoom(
                        upload, connection, try upload.makeRoom(for: input.byteCount))
                else { return .waits }
                input.consume(try upload.receive(input.bytes))
            }
            guard upload.isComplete else { return .needsInput }
            guard try hasRoom(upload, connection, upload.makeRoomToFinish()) else {
                return .waits
            }
            try submit(upload, connection)
        } catch {
            refuse(upload, error, connection, &batch)
        }
        return .goesOn
    }

    /// Whether a body has the memory that it needs. If not, its connection waits for it.
    ///
    /// - Parameter need: is asked again when something was granted; nil: it needs nothing.
    private func hasRoom(
        _ upload: Upload, _ connection: Connection,
        _ need: @autoclosure () throws(BodyFailure) -> BodyMemory.Need?
    ) throws(BodyFailure) -> Bool {
        while let need = try need() {
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
    }

    /// Submits a body that is complete: to the writer if it is short, else to a publisher.
    private func submit(_ upload: Upload, _ connection: Connection) throws(BodyFailure) {
        guard let job = try job(upload, connection) else { return }
        connection.state.enter(.awaitingChange(upload.reply))
        if job.isShort {
            job.run(environment.writer)
        } else {
            environment.publishers.submit(job)
        }
    }

    /// What is to be done with a complete body; nil when that was done before.
    private func job(
        _ upload: Upload, _ connection: Connection
    ) throws(BodyFailure) -> (any PublisherJob)? {
        do throws(ProtocolError) {
            switch upload.plan.kind {
            case .payload(let use):
                // The length of a chunked body is known now. The length inside a coding is known when
                // it is decoded, and checked then.
                if upload.coding == .identity {
                    try use.check(byteCount: UInt64(upload.byteCount))
                }
                return payloadJob(upload, use, connection)
            default:
                guard let body = try BodyJob.Body(upload) else { return nil }
                return BodyJob(
                    body, upload.plan, BodyReader(limits),
                    connection: connection.address, reservation: upload.reservation.take())
            }
        } catch {
            throw .wire(error)
        }
    }

    private func payloadJob(
        _ upload: Upload, _ use: PayloadUse, _ connection: Connection
    ) -> PayloadJob? {
        guard let writer = upload.takePayload() else { return nil }
        // A few coded bytes may become many.
        let isShort =
            (upload.coding == .identity
                && upload.byteCount <= Self.inlineFinishByteCountMax)
            || writer.finishesAtOnce(mediaType: use.mediaType.text)
        return PayloadJob(
            use, writer, isShort: isShort, connection: connection.address,
            reservation: upload.reservation.take())
    }

    /// Refuses a body. The connection goes on behind it if its end is known and the dialect allows
    /// that; else the connection ends.
    func refuse(
        _ upload: Upload, _ failure: BodyFailure, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) {
        let error: ProtocolError
        switch failure {
        case .wire(let wire): error = wire
        case .store(let store): error = handler.problem(store)
        }
        upload.abandon()
        let form = upload.reply.form
        if upload.isComplete {
            endRequest(form, connection, &batch) { handler.refuse(form, error, into: &$0) }
        } else if case .binary = form.dialect, let missing = upload.missingByteCount {
            connection.state.enter(.skipping(missing))
            answer(connection, &batch) { handler.refuse(form, error, into: &$0) }
        } else {
            close(form, error, connection, &batch)
        }
    }

    /// Submits a change without a body.
    func submit(_ operation: PendingChange.Operation, _ connection: Connection) {
        if case .promote(let isForced) = operation {
            let request = ReplicaStatus.Promotion(
                isForced: isForced, connection: connection.address)
            guard !environment.replica.promote(request) else { return }
            return connection.address.post(
                .replicated(
                    .refused(ProtocolError(.unavailable, "the lead is changing already"))))
        }
        environment.writer.submit(
            PendingChange(
                operation: operation, connection: connection.address, reservation: nil))
    }
}
