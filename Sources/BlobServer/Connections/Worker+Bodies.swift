import BlobProtocol
import BlobStore
import Bytes

// The way of a body from the socket to the writer: memory, bytes, a job. `BodyMemory` describes the rules for memory.

extension Worker {
    /// How many bodies are moved to files or refused in one go for lack of memory; then other workers run.
    private static let relievedBodyCountMax = 64

    /// Receives the available bytes of a body, and submits it once it is complete.
    func receive(
        _ upload: Upload, _ connection: Connection, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) -> TimeSlice.Progress {
        do throws(BodyFailure) {
            if upload.awaitsContinue {
                // A client that sends `Expect: 100-continue` is told to send once there is room for its first bytes.
                guard
                    try hasRoom(
                        upload, connection,
                        try upload.makeRoom(for: Upload.pieceByteCountMin))
                else { return .waits }
                upload.awaitsContinue = false
                answer(connection, &batch) {
                    $0.heads.append(HTTPResponseHead.interimContinue)
                    $0.endAnswer()
                }
                return .continues
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
        return .continues
    }

    /// Whether a body has the memory that it needs. If not, its connection waits for it, and `need` is asked again
    /// then.
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
            case .refused: throw .wire(.noBodyMemory(environment.context.bodyMemory.limits))
            }
        }
        return true
    }

    private func submit(_ upload: Upload, _ connection: Connection) throws(BodyFailure) {
        // It was valid when the head came, but the body may have taken long.
        var grant = upload.plan.grant
        if let refusal = handler.refusal(of: &grant) { throw .wire(refusal) }
        let job = try onWire(
            try BodyJob(upload, BodyReader(limits), for: connection.address))
        connection.state.enter(.awaitingChange(upload.reply))
        if job.isShort {
            job.run(environment.writer)
        } else {
            environment.publishers.submit(job)
        }
    }

    /// Refuses a body. The connection continues if the end of the body is known and the dialect allows it.
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

    func submit(_ operation: PendingChange.Operation, _ connection: Connection) {
        if case .promote(let isForced) = operation {
            let request = ReplicaStatus.Promotion(
                isForced: isForced, connection: connection.address)
            guard !environment.context.replica.promote(request) else { return }
            return connection.address.post(
                .replicated(
                    .refused(ProtocolError(.unavailable, "the lead is changing already"))))
        }
        environment.writer.submit(
            PendingChange(
                operation: operation, connection: connection.address, reservation: nil))
    }

    // MARK: - While memory is short

    func refuseWaiting(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        // If the reservation has just been granted, its message is already on the way.
        guard upload.reservation?.cancel() ?? true else { return }
        refuseForMemory(upload, connection, &batch)
    }

    /// Takes memory and files from stalled bodies while others wait. Bodies in memory move to files, while there are
    /// any.
    func relieveBodyMemory(_ batch: inout AnswerBatch) {
        guard environment.context.bodyMemory.isWanted else { return }
        var wanted = environment.context.bodyMemory.wanted
        for (connection, upload) in stalledBodies().prefix(Self.relievedBodyCountMax)
        where !wanted.isNothing {
            let held = upload.reservedByteCount
            let spools = upload.reservation?.spoolCount ?? 0
            guard (wanted.byteCount > 0 && held > 0) || (wanted.spoolCount > 0 && spools > 0) else {
                continue
            }
            do throws(BodyFailure) {
                if wanted.byteCount > 0, held > Upload.pieceByteCountMin {
                    let released = try upload.releaseMemory()
                    wanted.byteCount -= released
                    if released > 0 { continue }
                }
                wanted.byteCount -= held
                wanted.spoolCount -= spools
                refuseForMemory(upload, connection, &batch)
            } catch {
                refuse(upload, error, connection, &batch)
            }
            finishTimeSlice(connection)
        }
    }

    /// Bodies that hardly move: largest memory first, so that few are refused; of equals, the longest stalled first.
    private func stalledBodies() -> [(connection: Connection, upload: Upload)] {
        var stalled: [(connection: Connection, upload: Upload)] = []
        for connection in connections.all {
            // A client is not to blame for bytes that it has sent and no worker has read yet.
            guard case .body(let upload) = connection.state.phase, upload.isStalled(asOf: now),
                !connection.state.input.mayRead, !connection.state.isQueued
            else { continue }
            stalled.append((connection, upload))
        }
        stalled.sort {
            ($1.upload.reservedByteCount, $0.upload.pace.since)
                < ($0.upload.reservedByteCount, $1.upload.pace.since)
        }
        return stalled
    }

    private func refuseForMemory(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        refuse(
            upload, .wire(.noBodyMemory(environment.context.bodyMemory.limits)), connection, &batch)
    }
}
