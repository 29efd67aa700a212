import BlobProtocol
import BlobStore

// Requests of several connections are answered one after the other, in one snapshot, and then all answers are sent. A
// client that uses many connections is woken once and finds several answers. A wake-up takes the kernel as long as a
// fetch.

struct CollectedConnection {
    // Unretained: the worker's table keeps it until the iteration ends.
    let connection: Unmanaged<Connection>
    let answers: AnswerBatch.Section
}

extension Worker {
    /// Changes that an event stream is sent before the other connections run.
    private static let eventCountMax = 64
    /// How long a read waits on a follower for a change that its client has seen, in milliseconds.
    private static let sequenceWaitMilliseconds = 1_000

    /// Answers the requests in the input, and those of the connections whose events follow. `slice` is that of the
    /// last of them afterwards.
    func answerRequests(
        _ slice: inout TimeSlice, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) -> TimeSlice.Progress {
        var step = RequestHandler.Step.needsInput
        do throws(StoreError) {
            let snapshot = try environment.context.store.makeSnapshot()
            repeat {
                step = fillBatch(&slice, in: snapshot, &input, &batch)
                sendBatch(&slice, batch, in: snapshot)
            } while goesOn(after: step, &slice, &input)
        } catch {
            noteSnapshotFailure(slice.connection.takeUnretainedValue(), error)
            return .waits
        }
        return slice.connection._withUnsafeGuaranteedRef { connection in
            guard !connection.state.isBroken else { return .waits }
            return follow(step, connection)
        }
    }

    /// Fills a batch with the answers to the requests in the input and, where these are all of its connection's, with
    /// those to the next connection's. Returns what the last connection's last request asks for.
    private func fillBatch(
        _ slice: inout TimeSlice, in snapshot: borrowing Snapshot, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) -> RequestHandler.Step {
        batch.reset()
        while true {
            let step = slice.connection._withUnsafeGuaranteedRef {
                fill(&batch, from: &input, of: $0, until: slice.end, in: snapshot)
            }
            // Sending pages takes longer than waking a client, and one such answer fills a socket.
            guard case .needsInput = step, !batch.isFull, !batch.section.isLinked,
                collected.count + 1 < Self.batchConnectionCountMax,
                let next = nextOfBatch()
            else { return step }
            collected.append(
                CollectedConnection(connection: slice.connection, answers: batch.section))
            batch.beginSection()
            begin(next, after: &slice, &input)
        }
    }

    private func begin(
        _ next: Unmanaged<Connection>, after slice: inout TimeSlice, _ input: inout InputBuffer
    ) {
        slice.connection._withUnsafeGuaranteedRef { keepInput(of: $0, .needsInput, &input) }
        slice = TimeSlice(connection: next, begin: handler.observer.moment)
        next._withUnsafeGuaranteedRef { takeInput(of: $0, &input) }
    }

    private func sendBatch(
        _ slice: inout TimeSlice, _ batch: borrowing AnswerBatch, in snapshot: borrowing Snapshot
    ) {
        for index in 0..<collected.count {
            let one = collected[index]
            var budget = TimeSlice.byteCountMax
            one.connection._withUnsafeGuaranteedRef {
                send(one.answers, of: batch, to: $0, in: snapshot, &budget)
            }
        }
        slice.connection._withUnsafeGuaranteedRef {
            send(batch.section, of: batch, to: $0, in: snapshot, &slice.budget)
        }
        for index in 0..<collected.count {
            collected[index].connection._withUnsafeGuaranteedRef { finishTimeSlice($0) }
        }
        collected.removeAll()
        if let now = handler.observer.noteFetches(batch) { answeredAt = now }
    }

    /// Whether another batch follows in the same snapshot, of this connection or the next.
    private func goesOn(
        after step: RequestHandler.Step, _ slice: inout TimeSlice, _ input: inout InputBuffer
    ) -> Bool {
        switch step {
        case .answered:
            return slice.budget > 0 && !isOver(slice)
                && slice.connection._withUnsafeGuaranteedRef { $0.mayAnswer }
        case .needsInput:
            guard let next = nextOfBatch() else { return false }
            let last = slice.connection
            begin(next, after: &slice, &input)
            last._withUnsafeGuaranteedRef { finishTimeSlice($0) }
            return true
        default: return false
        }
    }

    /// Adds the answers to the whole requests in the input. Returns what the request after them asks for.
    private func fill(
        _ batch: inout AnswerBatch, from input: inout InputBuffer, of connection: Connection,
        until end: Instant, in snapshot: borrowing Snapshot
    ) -> RequestHandler.Step {
        // While memory is short, answers go one by one: a client that does not read holds one.
        let isShort = answerMemory.isShort
        // Where each request is logged, a fetch takes the way of all others.
        while !handler.observer.logsRequests {
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
            && handler.observer.moment < end
        return step
    }

    /// Sends a connection its answers, and of a long one as much as the budget allows.
    private func send(
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

    func noteSnapshotFailure(_ connection: Connection, _ error: StoreError) {
        // The handler logs it.
        counters.count(handler.problem(error).code)
        connection.state.fail()
    }

    /// Does what a request asks for besides an answer.
    private func follow(
        _ step: RequestHandler.Step, _ connection: Connection
    ) -> TimeSlice.Progress {
        switch step {
        case .needsInput: return .needsInput
        case .answered, .retryInNewSnapshot: break
        case .answeredThenSkip(let count): connection.state.enter(.skipping(count))
        case .answeredThenClose: connection.state.endAfterOutput()
        case .retryAfterCommit:
            connection.state.enter(.awaitingCommit)
            submit(.waitForCommit, connection)
        case .retryBehind(let sequence):
            connection.state.enter(.awaitingCommit)
            let waiter = ReplicaStatus.Waiter(
                sequence: sequence, connection: connection.address, result: nil,
                end: now.after(milliseconds: Self.sequenceWaitMilliseconds))
            // Where too many wait it is looked at again at once, and told that it is too early.
            if !environment.context.replica.wait(waiter) {
                connection.address.post(.replicated(.committed))
            }
        case .retryWithBlob(let blob):
            connection.state.enter(.awaitingCommit)
            environment.context.replica.fetches.want(blob, for: connection.address, asOf: now)
        case .later(let step, let form, let framing): begin(step, form, framing, connection)
        }
        return .goesOn
    }

    private func begin(
        _ step: ActionStep, _ form: PendingReply.Form, _ framing: Upload.Framing,
        _ connection: Connection
    ) {
        switch step {
        case .respond: break
        case .write(let operation, let reply):
            connection.state.enter(.awaitingChange(PendingReply(reply: reply, form: form)))
            submit(operation, connection)
        case .receiveBody(let plan):
            let reservation = BodyReservation(
                of: environment.context.bodyMemory, connection.peer, for: connection.address)
            let upload = Upload(plan, framing: framing, form: form)
            upload.begin(environment.context.store, reservation, asOf: now)
            connection.state.enter(.body(upload))
        case .awaitChanges(let query):
            let end = now.after(milliseconds: query.waitSeconds * 1_000)
            connection.state.enter(.awaitingFeed(FeedReader(query, form, end: end)))
        case .subscribe(var query):
            if case .http = form.dialect { query.limit = Self.eventCountMax }
            // The first answer comes at once, even if it is empty.
            connection.state.enter(.streaming(FeedReader(query, form, end: now)))
        case .sendBackup:
            guard case .http(let head) = form.dialect else { return }
            connection.state.enter(.sendingBackup(BackupAnswer(head, form)))
        }
    }
}

extension RequestHandler.Step {
    /// Whether the next request may be looked at at once.
    fileprivate var isAnswered: Bool {
        if case .answered = self { return true }
        return false
    }
}
