import BlobProtocol
import BlobStore

// The one loop that serves connections. One that is due has a time slice: what is queued is sent, input is read,
// requests are answered. What it does next depends on its phase alone.

struct TimeSlice {
    /// Answers that one connection gets before the others run, in bytes.
    static let byteCountMax = 1 << 20
    /// At least one request is answered. Fetches in a row do not count: many of them are cheaper than one statistic.
    private static let microsecondsMax = 1_000

    // Unretained: the worker's table keeps it until the iteration ends.
    let connection: Unmanaged<Connection>
    /// Bytes that it may still be sent.
    var budget = Self.byteCountMax
    /// Compared with ``RequestObserver/moment``, which fetches of one batch do not move.
    let end: Instant

    init(connection: Unmanaged<Connection>, begin: Instant) {
        self.connection = connection
        end = begin.after(microseconds: Self.microsecondsMax)
    }

    enum Progress {
        case goesOn
        /// The input is used up, but for the beginning of a request.
        case needsInput
        /// The connection waits for something else, or has had its share.
        case waits
    }
}

extension Worker {
    func serve(_ input: inout InputBuffer, _ batch: inout AnswerBatch) {
        while let connection = nextConnection(&batch) {
            var slice = TimeSlice(connection: connection, begin: handler.observer.moment)
            run(&slice, &input, &batch)
        }
    }

    private func nextConnection(_ batch: inout AnswerBatch) -> Unmanaged<Connection>? {
        if let held = due.takeHeld() { return held }
        while true {
            if let message = due.takeMessage() {
                if let connection = receive(message, &batch) { return connection }
            } else if let index = due.takeEvent() {
                if let connection = noteEvent(index) { return connection }
            } else if let token = due.takeQueued(asOf: handler.observer.moment) {
                guard let connection = connections.unretained(token) else { continue }
                connection._withUnsafeGuaranteedRef { $0.state.leaveRunQueue() }
                return connection
            } else {
                return nil
            }
        }
    }

    /// The connection of the next event, if it can join the batch. If not, it is served next.
    func nextOfBatch() -> Unmanaged<Connection>? {
        while !due.hasEarlier, let index = due.takeEvent() {
            guard let connection = noteEvent(index) else { continue }
            let mayJoin = connection._withUnsafeGuaranteedRef {
                $0.mayAnswer && $0.state.input.mayRead
            }
            if mayJoin { return connection }
            due.hold(connection)
        }
        return nil
    }

    /// The connection to be served for an event; nil: none now. One that has output to send goes to the run queue:
    /// its client has had a turn. So does every one once the pass has taken its time.
    @inline(__always)
    private func noteEvent(_ index: Int) -> Unmanaged<Connection>? {
        let event = poller.event(index)
        let token = ConnectionToken(rawValue: event.token)
        if token == .worker {
            due.take(inbox.takeAll())
            return nil
        }
        guard let unretained = connections.unretained(token) else { return nil }
        return unretained._withUnsafeGuaranteedRef { connection in
            connection.state.polled(
                isReadable: event.isReadable, isEnd: event.isEnd, isHangUp: event.isHangUp)
            if connection.state.isBroken {
                finishTimeSlice(connection)
                return nil
            }
            if !connection.output.isEmpty || due.isPassOver(asOf: handler.observer.moment) {
                if connection.state.enterRunQueue() { runQueue.append(connection.token) }
                return nil
            }
            return connection.state.isQueued ? nil : unretained
        }
    }

    /// It ends when there is nothing more to do now, or the connection has had its share.
    private func run(
        _ slice: inout TimeSlice, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) {
        guard sendQueued(&slice) else { return }
        slice.connection._withUnsafeGuaranteedRef { takeInput(of: $0, &input) }
        var progress = TimeSlice.Progress.goesOn
        while progress == .goesOn { progress = advance(&slice, &input, &batch) }
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
            noteSnapshotFailure(connection, error)
        }
        if connection.output.isEmpty, !connection.state.isBroken { return true }
        finishTimeSlice(connection)
        return false
    }

    /// Loads what an earlier time slice left of the input, and reads more.
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
        if !connection.state.isBroken {
            connection.rest = input.rest()
            connection.state.keepUnused(progress == .needsInput ? .partial : .unread)
        }
        input.consume(input.byteCount)
    }

    private func advance(
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
                return count < missing ? .needsInput : .goesOn
            case .lingering:
                discard(&input, of: connection)
                return .waits
            case .awaitingFeed(let reader):
                guard reader.isDue else { return .waits }
                lookAgain(reader, connection, &batch)
                return connection.state.phase.feedReader == nil ? .goesOn : .waits
            case .streaming(let reader):
                if reader.isDue { continueStream(reader, connection, &batch) }
                return .waits
            case .sendingBackup(let answer):
                guard answer.isDue else { return .waits }
                continueBackup(answer, connection, &batch)
                return connection.state.phase.kind == .sendingBackup ? .waits : .goesOn
            case .awaitingMemory, .awaitingChange, .awaitingCommit, .draining, .closed:
                return .waits
            }
        }
    }

    @inline(__always)
    func isOver(_ slice: TimeSlice) -> Bool { handler.observer.moment >= slice.end }

    /// Throws input away until the peer hangs up, or has sent too much.
    private func discard(_ input: inout InputBuffer, of connection: Connection) {
        connection.lingeredByteCount += input.byteCount
        input.consume(input.byteCount)
        if connection.state.hasInputEnded
            || connection.lingeredByteCount > Deadline.lingerByteCountMax
        {
            connection.state.fail()
        }
    }

    /// The input is used up. If it has ended, a request that is incomplete stays so.
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
            .sendingBackup, .lingering, .draining, .closed:
            break
        }
    }

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
                // Closing a socket with unread input would take the last answer away from the peer.
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
