import BlobProtocol
import BlobStore

// One connection's time slice: send what is queued, read, answer, send.

extension Worker {
    /// Runs a connection's time slice, which ends when there is nothing more to do for it now or it
    /// has been sent its share.
    func runTimeSlice(
        _ connection: Connection, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) {
        var budget = DaemonLimits.timeSliceByteCountMax
        if !connection.output.isEmpty {
            sendQueued(connection, &budget)
            if !connection.output.isEmpty || connection.state.isBroken { return }
        }
        input.load(connection.rest)
        connection.rest = []
        connection.state.hasUnusedInput = false
        if connection.state.input.mayRead, !input.isFull, connection.state.takesInput {
            read(connection, &input)
        }
        process(connection, &input, &batch, &budget)
        keepRest(of: &input, for: connection)
    }

    /// Keeps what is left of the input for the connection's next time slice, and makes room for another's.
    func keepRest(of input: inout InputBuffer, for connection: Connection) {
        guard !input.isEmpty else { return }
        if !connection.state.isBroken { connection.rest = input.rest() }
        input.consume(input.byteCount)
    }

    private func sendQueued(_ connection: Connection, _ budget: inout Int) {
        do throws(StoreError) {
            let snapshot = try environment.store.makeSnapshot()
            sender.sendQueued(to: connection, in: snapshot, budget: &budget)
        } catch {
            noteSnapshotFailure(connection, error)
        }
    }

    func noteSnapshotFailure(_ connection: Connection, _ error: StoreError) {
        // The handler logs it.
        counters.count(handler.problem(error).code)
        connection.state.fail()
    }

    func read(_ connection: Connection, _ input: inout InputBuffer) {
        switch input.read(from: connection.socket) {
        case .moved(let count):
            connection.receivedByteCount += count
            counters.bytesReceived.add(count)
            connection.state.received(.moved(isFilled: input.isFilled))
        case .blocked: connection.state.received(.blocked)
        case .ended: connection.state.received(.ended)
        }
    }

    /// Uses the input as far as it can be used now.
    private func process(
        _ connection: Connection, _ input: inout InputBuffer, _ batch: inout AnswerBatch,
        _ budget: inout Int
    ) {
        while !connection.state.isBroken {
            switch connection.state.phase {
            case .head:
                guard !connection.state.isEnding, connection.output.isEmpty, budget > 0 else {
                    // Also when there is only the end of the input to be noticed.
                    connection.state.hasUnusedInput =
                        (!input.isEmpty || connection.state.hasInputEnded)
                        && !connection.state.isEnding
                    return
                }
                guard answerRequests(connection, &input, &batch, &budget) else {
                    return noteEnd(connection, input, &batch)
                }
            case .body(let upload):
                guard connection.output.isEmpty else { return }
                guard receive(upload, connection, &input, &batch) else {
                    return noteEnd(connection, input, &batch)
                }
            case .skipping(let missing):
                let count = min(missing, UInt64(input.byteCount))
                input.consume(Int(count))
                if count < missing {
                    connection.state.enter(.skipping(missing - count))
                    return noteEnd(connection, input, &batch)
                }
                connection.state.enter(.head)
            case .lingering:
                connection.lingeredByteCount += input.byteCount
                input.consume(input.byteCount)
                if connection.state.hasInputEnded
                    || connection.lingeredByteCount > DaemonLimits.lingerByteCountMax
                {
                    connection.state.fail()
                }
                return
            case .awaitingFeed(let reader):
                guard reader.isDue else { return }
                lookAgain(reader, connection, &batch)
                if case .awaitingFeed = connection.state.phase { return }
            case .streaming(let reader):
                if reader.isDue { continueStream(reader, connection, &batch) }
                return
            case .awaitingMemory, .awaitingChange, .awaitingCommit, .draining, .closed:
                return
            }
        }
    }

    /// Answers the whole requests at the start of the input, in order and in one snapshot.
    ///
    /// - Returns: whether there may be more to do with the input right away.
    private func answerRequests(
        _ connection: Connection, _ input: inout InputBuffer, _ batch: inout AnswerBatch,
        _ budget: inout Int
    ) -> Bool {
        guard !input.isEmpty else { return false }
        var step = RequestHandler.Step.needsInput
        do throws(StoreError) {
            let snapshot = try environment.store.makeSnapshot()
            repeat {
                batch.reset()
                step = fill(&batch, from: &input, of: connection, in: snapshot)
                send(batch.section, of: batch, to: connection, in: snapshot, &budget)
            } while step.isAnswered && connection.output.isEmpty && budget > 0
                && !connection.state.isBroken
        } catch {
            noteSnapshotFailure(connection, error)
            return false
        }
        return follow(step, connection, &batch)
    }

    /// Adds the answers to the whole requests at the start of the input, as many as the batch takes.
    ///
    /// - Returns: what became of the request behind them.
    func fill(
        _ batch: inout AnswerBatch, from input: inout InputBuffer, of connection: Connection,
        in snapshot: borrowing Snapshot
    ) -> RequestHandler.Step {
        // Who reads gets the next one at once; who does not holds one and no more.
        let isShort = answerMemory.isShort
        while true {
            let used = handler.answerPlainGet(
                input.bytes, of: &connection.session, in: snapshot, into: &batch)
            guard used > 0 else { break }
            input.consume(used)
            if batch.isSectionFull || isShort { return .answered }
            if input.isEmpty { return .needsInput }
        }
        var step = RequestHandler.Step.needsInput
        repeat {
            var consumed = 0
            step = handler.next(
                input.bytes, of: &connection.session, in: snapshot, into: &batch,
                consumed: &consumed)
            input.consume(consumed)
        } while step.isAnswered && !batch.isSectionFull && !isShort
        return step
    }

    /// Sends a connection its answers, and of a long one as much as the budget allows.
    func send(
        _ answers: AnswerBatch.Section, of batch: borrowing AnswerBatch,
        to connection: Connection, in snapshot: borrowing Snapshot, _ budget: inout Int
    ) {
        guard !answers.isEmpty else { return }
        connection.deadline.restart(now: now)
        sender.send(answers, of: batch, to: connection, in: snapshot, budget: &budget)
        if !connection.output.isEmpty, !connection.output.isBlocked, !connection.state.isBroken {
            sender.sendQueued(to: connection, in: snapshot, budget: &budget)
        }
    }

    /// Does what a request asks for besides an answer.
    ///
    /// - Parameter batch: its answers have been sent.
    /// - Returns: whether there may be more to do with the input right away.
    func follow(
        _ step: RequestHandler.Step, _ connection: Connection, _ batch: inout AnswerBatch
    ) -> Bool {
        switch step {
        case .needsInput: return false
        case .answered: return true
        case .answeredThenSkip(let count):
            connection.state.enter(.skipping(count))
            return true
        case .answeredThenClose:
            connection.state.endAfterOutput()
            return false
        case .retryInNewSnapshot: return true
        case .retryAfterCommit:
            awaitCommit(connection)
            return false
        case .write(let operation, let reply):
            connection.state.enter(.awaitingChange(reply))
            environment.writer.submit(
                PendingChange(
                    operation: operation, connection: connection.address, reservation: nil))
            return false
        case .receiveBody(let upload):
            return admit(upload, connection, &batch)
        case .awaitChanges(let query, let form):
            return beginWait(query, form, connection, &batch)
        case .subscribe(let query, let form):
            return beginStream(query, form, connection, &batch)
        }
    }

    /// Has the writer commit what it has acknowledged; the connection goes on then.
    private func awaitCommit(_ connection: Connection) {
        connection.state.enter(.awaitingCommit)
        environment.writer.submit(
            PendingChange(
                operation: .waitForCommit, connection: connection.address, reservation: nil))
    }

    /// The input is used up. When no more will come, a request that is not whole never will be.
    private func noteEnd(
        _ connection: Connection, _ input: borrowing InputBuffer, _ batch: inout AnswerBatch
    ) {
        guard connection.state.hasInputEnded, !connection.state.isEnding else { return }
        switch connection.state.phase {
        case .head where !input.isEmpty, .body:
            refuseUnfinished(connection, &batch)
        case .head, .skipping:
            connection.state.endAfterOutput()
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .lingering, .draining, .closed:
            break
        }
    }
}

extension RequestHandler.Step {
    /// Whether the next request may be looked at at once.
    var isAnswered: Bool {
        if case .answered = self { return true }
        return false
    }

    /// Whether it is for the writer, with or without a body.
    var isOfWriter: Bool {
        switch self {
        case .write, .receiveBody: true
        default: false
        }
    }
}
