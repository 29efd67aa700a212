import BlobProtocol
import BlobStore

// The loop that serves connections. Each due connection has a time slice: queued output is sent, input is read,
// requests are answered. Only its phase decides what it does next.

struct TimeSlice {
    /// How much one connection is sent before others run, in bytes.
    static let byteCountMax = 1 << 20
    /// Limits a time slice after its first request. Plain fetches do not count: many are cheaper than one statistic.
    private static let microsecondsMax = 1_000

    // Unretained: the worker's table keeps it until the iteration ends.
    let connection: Unmanaged<Connection>
    /// How many bytes it may still be sent.
    var budget = Self.byteCountMax
    /// Compared with ``RequestObserver/moment``, which does not advance within a batch of fetches.
    let end: Instant

    init(connection: Unmanaged<Connection>, begin: Instant) {
        self.connection = connection
        end = begin.after(microseconds: Self.microsecondsMax)
    }

    enum Progress {
        case continues
        /// The input is used up, except for the beginning of a request.
        case needsInput
        /// The connection waits for something else, or has used up its time slice.
        case waits
    }
}

extension Worker {
    /// Returns when nothing more can be done now, or the time slice is used up.
    func run(
        _ slice: inout TimeSlice, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) {
        guard sendQueued(&slice) else { return }
        slice.connection._withUnsafeGuaranteedRef { takeInput(of: $0, &input) }
        var progress = TimeSlice.Progress.continues
        while progress == .continues { progress = advance(&slice, &input, &batch) }
        slice.connection._withUnsafeGuaranteedRef { connection in
            if progress == .needsInput { noteEnd(connection, input, &batch) }
            keepInput(of: connection, progress, &input)
            finishTimeSlice(connection)
        }
    }

    @inline(__always)
    private func sendQueued(_ slice: inout TimeSlice) -> Bool {
        let isEmpty = slice.connection._withUnsafeGuaranteedRef { $0.output.isEmpty }
        return isEmpty || sendOutput(&slice)
    }

    private func sendOutput(_ slice: inout TimeSlice) -> Bool {
        let connection = slice.connection.takeUnretainedValue()
        do throws(StoreError) {
            let snapshot = try environment.context.store.makeSnapshot()
            sender.sendQueued(to: connection, in: snapshot, budget: &slice.budget)
        } catch {
            // The head is sent, so cutting the answer off is the only way to report an error.
            counters.count(handler.problem(error).code)
            connection.state.fail()
        }
        if connection.output.isEmpty, !connection.state.isBroken { return true }
        finishTimeSlice(connection)
        return false
    }

    /// Loads input left by an earlier time slice, and reads more.
    @inline(__always)
    func takeInput(of connection: Connection, _ input: inout InputBuffer) {
        if !connection.rest.isEmpty {
            input.load(connection.rest)
            connection.rest = []
            connection.state.loadUnused()
        }
        guard connection.state.input.mayRead, connection.state.takesInput, !input.isFull else {
            return
        }
        switch input.read(from: connection.socket) {
        case .moved(let count):
            connection.receivedByteCount += count
            counters.bytesReceived.add(count)
            connection.state.received(.moved(isFilled: input.isFilled))
        case .blocked: connection.state.received(.blocked)
        case .ended: connection.state.received(.ended)
        }
    }

    @inline(__always)
    func keepInput(
        of connection: Connection, _ progress: TimeSlice.Progress, _ input: inout InputBuffer
    ) {
        guard !input.isEmpty else { return }
        if connection.state.keepsUnused {
            connection.rest = input.rest()
            connection.state.keepUnused(progress == .needsInput ? .partial : .unread)
            // It may have to wait for long.
            if connection.state.isWaiting { account(connection) }
        }
        input.consume(input.byteCount)
    }

    @inline(__always)
    func isOver(_ slice: TimeSlice) -> Bool { handler.observer.moment >= slice.end }

    /// Decides what a connection waits for after its time slice, or ends it.
    func finishTimeSlice(_ connection: Connection) {
        if connection.heldByteCount > 0 || !connection.output.isEmpty { account(connection) }
        switch connection.state.endTimeSlice(
            output: connection.output.state, isStopping: isStopping)
        {
        case .none: break
        case .drop: drop(connection)
        case .wait(let change):
            if change.endsSending {
                // Closing a socket with unread input would discard the last answer.
                connection.socket.endSending()
                connection.rest = []
            }
            if change.entersRunQueue { runQueue.append(connection.token) }
            if let interest = change.interest {
                poller.change(
                    connection.socket.number, token: connection.token.rawValue, interest.edges)
            }
            restartDeadline(connection)
        }
    }

    @inline(__always)
    private func restartDeadline(_ connection: Connection) {
        let awaited = connection.awaited
        if awaited == .ours { hasAnswered = false }
        if awaited != connection.deadline.kind {
            connection.deadline.wait(for: awaited, now: now, progress: connection.progress)
        }
    }
}

// Requests of several connections are answered in turn, in one snapshot, and then all answers are sent. So a client
// with many connections is woken once for several answers. A wake-up takes the kernel as long as a fetch.

struct CollectedConnection {
    // Unretained: the worker's table keeps it until the iteration ends.
    let connection: Unmanaged<Connection>
    let answers: AnswerBatch.Section
}

extension Worker {
    /// Answers the requests in the input, and those of the connections whose events follow. Afterwards `slice` belongs
    /// to the last of them.
    func answerRequests(
        _ slice: inout TimeSlice, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) -> TimeSlice.Progress {
        var step = RequestHandler.Step.needsInput
        do throws(StoreError) {
            let snapshot = try environment.context.store.makeSnapshot()
            repeat {
                step = fillBatch(&slice, in: snapshot, &input, &batch)
                sendBatch(&slice, batch, in: snapshot)
            } while continues(after: step, &slice, &input)
        } catch {
            return refuseNext(slice.connection.takeUnretainedValue(), error, &input, &batch)
        }
        return slice.connection._withUnsafeGuaranteedRef { connection in
            guard !connection.state.isBroken else { return .waits }
            return follow(step, connection)
        }
    }

    /// Fills a batch with the answers to one connection's requests and, once it has no more, to the next connection's.
    /// Returns what the last request needs.
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
    private func continues(
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

    /// Adds the answers to the whole requests in the input. Returns what the next request needs.
    private func fill(
        _ batch: inout AnswerBatch, from input: inout InputBuffer, of connection: Connection,
        until end: Instant, in snapshot: borrowing Snapshot
    ) -> RequestHandler.Step {
        // While memory is short, requests are answered one by one, so a client that does not read holds one answer.
        let isShort = answerMemory.isShort
        // If every request is logged, fetches are answered like other requests.
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

    /// Sends a connection its answers; a long one as far as the budget allows.
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

    /// Answers the next request with the reason why there is no snapshot.
    private func refuseNext(
        _ connection: Connection, _ failure: StoreError, _ input: inout InputBuffer,
        _ batch: inout AnswerBatch
    ) -> TimeSlice.Progress {
        var step = RequestHandler.Step.needsInput
        var consumed = 0
        answer(connection, &batch) {
            step = handler.refuseNext(
                input.bytes, of: &connection.session, failure, into: &$0, consumed: &consumed)
        }
        input.consume(consumed)
        return connection.state.isBroken ? .waits : follow(step, connection)
    }
}

extension RequestHandler.Step {
    /// Whether the next request may be parsed at once.
    fileprivate var isAnswered: Bool {
        if case .answered = self { return true }
        return false
    }
}
