import BlobProtocol
import BlobStore

// What a connection does in each phase, and how a request's answer begins one.

extension Worker {
    /// Changes sent to an event stream before other connections run.
    private static let eventCountMax = 64
    /// How long a read on a follower waits for a change that its client has seen, in milliseconds.
    private static let sequenceWaitMilliseconds = 1_000

    func advance(
        _ slice: inout TimeSlice, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) -> TimeSlice.Progress {
        let unretained = slice.connection
        return unretained._withUnsafeGuaranteedRef { connection in
            guard !connection.state.isBroken else { return .waits }
            switch connection.state.phase {
            case .head:
                guard connection.mayAnswer, slice.budget > 0 else { return .waits }
                guard !input.isEmpty else { return .needsInput }
                guard !isOver(slice) else { return .waits }
                return answerRequests(&slice, &input, &batch)
            case .body(let upload):
                guard connection.output.isEmpty else { return .waits }
                return receive(upload, connection, &input, &batch)
            case .skipping(let missing):
                let count = min(missing, UInt64(input.byteCount))
                input.consume(Int(count))
                connection.state.enter(count < missing ? .skipping(missing - count) : .head)
                return count < missing ? .needsInput : .continues
            case .lingering:
                discard(&input, of: connection)
                return .waits
            case .awaitingFeed(let reader):
                guard reader.isDue else { return .waits }
                lookAgain(reader, connection, &batch)
                return connection.state.phase.feedReader == nil ? .continues : .waits
            case .streaming(let reader):
                if reader.isDue { continueStream(reader, connection, &batch) }
                return .waits
            case .sendingBackup(let answer):
                guard answer.isDue else { return .waits }
                continueBackup(answer, connection, &batch)
                return connection.state.phase.kind == .sendingBackup ? .waits : .continues
            case .awaitingMemory, .awaitingChange, .awaitingCommit, .draining, .closed:
                return .waits
            }
        }
    }

    /// Discards input until the peer hangs up or has sent too much.
    private func discard(_ input: inout InputBuffer, of connection: Connection) {
        connection.lingeredByteCount += input.byteCount
        input.consume(input.byteCount)
        if connection.state.hasInputEnded
            || connection.lingeredByteCount > Deadline.lingerByteCountMax
        {
            connection.state.fail()
        }
    }

    /// The input is used up. If it has also ended, an incomplete request stays incomplete.
    func noteEnd(
        _ connection: Connection, _ input: borrowing InputBuffer, _ batch: inout AnswerBatch
    ) {
        guard connection.state.hasInputEnded, !connection.state.isEnding else { return }
        switch connection.state.phase {
        case .head where !input.isEmpty, .body:
            refuseUnfinished(connection, &batch)
        case .head, .skipping:
            connection.state.endAfterOutput()
        case .awaitingMemory, .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming,
            .sendingBackup, .lingering, .draining, .closed:
            break
        }
    }

    /// Does what a request needs besides an answer.
    func follow(
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
                batches: BatchSpan(sequence), connection: connection.address, result: nil,
                end: now.after(milliseconds: Self.sequenceWaitMilliseconds))
            // If too many wait, the request is looked at again at once, and told that it is too early.
            if !environment.context.replica.wait(waiter) {
                connection.address.post(.replicated(.committed))
            }
        case .retryWithBlob(let blob):
            connection.state.enter(.awaitingCommit)
            environment.context.replica.fetches.want(blob, for: connection.address, asOf: now)
        case .later(let step, let form, let framing): begin(step, form, framing, connection)
        }
        return .continues
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
            // The first answer is sent at once, even if it is empty.
            connection.state.enter(.streaming(FeedReader(query, form, end: now)))
        case .sendBackup:
            guard case .http(let head) = form.dialect else { return }
            connection.state.enter(.sendingBackup(BackupAnswer(head, form)))
        }
    }
}
