import BlobProtocol
import BlobStore
import CLinux
import Glibc
import Logging

/// What all workers share.
struct WorkerEnvironment: Sendable {
    let store: BlobStore
    let limits: DaemonLimits
    let counters: DaemonCounters
    let bodyMemory: BodyMemory
    let drainSlots: DrainSlots
    let writer: WriterThread
    let publishers: PublisherPool
    let statistics: StatisticsDocument
    /// Where payloads are linked from; nil when all of them are copied.
    let pages: DataPages?
    let log: Logger

    /// From how many bytes on payloads are linked.
    var linkedByteCountMin: Int { pages == nil ? .max : limits.linkedByteCountMin }
}

/// A thread that serves connections: it waits for input, answers it, and never waits for anything
/// else.
///
/// This is where a request's way begins: ``run()`` wakes, `Worker+TimeSlices.swift` reads and hands the
/// bytes to ``RequestHandler``, which asks the store, and ``ResponseSender`` sends the answers.
///
/// Its properties are its thread's own, and the unchecked ones are never borrowed by a call that could
/// reach them by another way; see ``Connection``.
final class Worker {
    let environment: WorkerEnvironment
    let inbox: WorkerInbox
    let counters: WorkerCounters
    let handler: RequestHandler
    let sender: ResponseSender
    /// What clients hold that do not read.
    let answerMemory: AnswerMemory
    let poller: Poller
    /// The time of this iteration, for deadlines.
    private(set) var now = Instant.now

    @exclusivity(unchecked) var connections = ConnectionTable()
    /// Connections that have more to do than one time slice allows.
    private var runQueue: [ConnectionToken] = []
    var nextTick = Instant.now
    var isStopping = false
    /// The connections whose answers are in the batch, until they are sent.
    @exclusivity(unchecked) var collected = TrivialArray<CollectedConnection>(
        capacity: DaemonLimits.batchConnectionCountMax)
    /// What the last request of one of them asks for besides an answer.
    @exclusivity(unchecked) var collectedSteps: [RequestHandler.Step] = []
    private var spin: IdleSpin
    /// Whether the last iterations answered requests by themselves, and none waits for another thread.
    private var hasAnswered = false
    var stopsAt: Instant?

    init(
        index: Int, inbox: WorkerInbox, environment: WorkerEnvironment
    ) throws(SystemError) {
        self.environment = environment
        self.inbox = inbox
        counters = environment.counters.workers[index]
        answerMemory = AnswerMemory(
            byteCountMax: environment.limits.answerMemoryByteCountMax,
            workerCount: environment.counters.workers.count, counters: counters)
        handler = RequestHandler(
            environment.store, limits: environment.limits, counters: counters,
            statistics: environment.statistics, answerMemory: answerMemory, log: environment.log)
        sender = ResponseSender(
            counters: counters, pages: environment.pages, slots: environment.drainSlots,
            log: environment.log)
        spin = IdleSpin(microseconds: environment.limits.spinMicroseconds)
        poller = try Poller()
        try poller.add(inbox.signalNumber, token: ConnectionToken.worker.rawValue, .input)
    }

    /// Serves until told to stop and nothing is under way any more.
    func run() {
        var input = InputBuffer()
        var batch = AnswerBatch(
            linkedByteCountMin: environment.linkedByteCountMin,
            stretchByteCountMin: environment.pages?.stretchByteCountMin ?? DataPages.byteCountMin)
        while true {
            let count = wait()
            now = .now
            handler.beginIteration()
            hasAnswered = count > 0
            input.readByteCountMax =
                environment.bodyMemory.isWanted
                ? DaemonLimits.inputWhileShortByteCountMax : .max
            serveEvents(count, &input, &batch)
            serveRunQueue(&input, &batch)
            if now >= nextTick { checkDeadlines(&batch) }
            connections.endIteration()
            batch.releaseMemory()
            if isStopping, shouldEnd() { return }
        }
    }

    /// Waits for events: for a moment awake, if that has been worth while, then asleep.
    private func wait() -> Int {
        // Nobody waits awake for what other threads do.
        if runQueue.isEmpty, hasAnswered, spin.begins() {
            let end = spin.end(from: clinux_monotonic_ns())
            repeat {
                let count = poller.wait(milliseconds: 0)
                if count > 0 {
                    spin.succeeded()
                    return count
                }
                // Whoever else wants this core has it first.
                sched_yield()
            } while clinux_monotonic_ns() < end
            spin.failed()
        }
        return poller.wait(milliseconds: pause)
    }

    /// How long to wait for events at the most.
    private var pause: Int {
        if !runQueue.isEmpty { return 0 }
        guard connections.count > 0 || isStopping else { return -1 }
        return max(0, nextTick.milliseconds(since: now)) + 1
    }

    /// Runs those again that had more to do, once each.
    private func serveRunQueue(_ input: inout InputBuffer, _ batch: inout AnswerBatch) {
        guard !runQueue.isEmpty else { return }
        let waiting = runQueue
        runQueue.removeAll(keepingCapacity: true)
        for token in waiting {
            guard let connection = connections.connection(token) else { continue }
            connection.isQueued = false
            runTimeSlice(connection, &input, &batch)
            finishTimeSlice(connection)
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
        case .wait(let interest, let isDue, let endsSending):
            if endsSending {
                // Closing a socket with unread input would take the last answer away from the peer: what it
                // still sends is read and thrown away for a moment.
                connection.socket.endSending()
                connection.rest = []
            }
            wait(interest, isDue: isDue, connection)
        }
    }

    /// Has a connection wait for its next time slice.
    private func wait(
        _ interest: Poller.Interest, isDue: Bool, _ connection: Connection
    ) {
        if isDue, !connection.isQueued {
            connection.isQueued = true
            runQueue.append(connection.token)
        }
        if interest != connection.interest {
            connection.interest = interest
            poller.changeConnection(
                connection.socket.number, token: connection.token.rawValue, interest)
        }
        let awaited = connection.awaited
        if awaited == .ours { hasAnswered = false }
        if awaited != connection.deadline.kind {
            connection.deadline.wait(for: awaited, now: now, progress: connection.progress)
        }
    }

    // MARK: - Messages

    func take(
        _ message: WorkerMessage, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) {
        switch message.content {
        case .accepted(let number, let peer): accept(number, peer)
        case .stop: stop(within: environment.limits.drainMilliseconds, &input, &batch)
        case .stopAtOnce: stop(within: 0, &input, &batch)
        case .changed(let result):
            guard let connection = connections.connection(message.token) else { return }
            finishChange(connection, result, &input, &batch)
            finishTimeSlice(connection)
        case .feedChanged:
            guard let connection = connections.connection(message.token) else { return }
            continueFeed(connection, &batch)
            finishTimeSlice(connection)
        case .memoryGranted:
            guard let connection = connections.connection(message.token) else { return }
            continueBody(connection, &input, &batch)
            finishTimeSlice(connection)
        }
    }

    private func accept(_ number: Int32, _ peer: Peer) {
        guard let descriptor = try? OwnedDescriptor(taking: number, from: "accept4"), !isStopping
        else { return counters.countConnection(-1) }
        let token = connections.reserve()
        let connection = Connection(
            Socket(descriptor), address: ConnectionAddress(inbox: inbox, token: token),
            peer: peer, store: environment.store, now: now)
        do {
            try poller.addConnection(connection.socket.number, token: token.rawValue, .input)
        } catch {
            environment.log.error("Cannot serve a connection: \(error)")
            counters.countConnection(-1)
            connections.release(token)
            return
        }
        connections.insert(connection)
    }

    /// Ends a connection: at once, or when its peer has read the pages that were sent to it.
    private func drop(_ connection: Connection) {
        connection.abandonOutput()
        releaseHeld(connection)
        connection.releaseRead()
        // At a stop the process closes all of them; its next run waits for their readers.
        if !connection.inFlight.isEmpty, !isStopping {
            drain(connection)
        } else {
            forget(connection)
        }
    }

    /// Ends both directions and keeps the socket, which tells when everything has been read. The
    /// peer's own end empties the queue too.
    private func drain(_ connection: Connection) {
        if case .draining = connection.state.phase { return }
        abandonRequest(connection)
        connection.socket.end()
        // A socket that is shut down is reported for ever.
        poller.remove(connection.socket.number)
        connection.interest = []
        connection.rest = []
        connection.state.enter(.draining)
        // Its place is another's from now on.
        counters.countConnection(-1)
        counters.countDraining(1)
    }

    /// Forgets a connection; its socket is closed when the iteration ends, and no other reference is left.
    func forget(_ connection: Connection) {
        guard connections.remove(connection) else { return }
        if case .draining = connection.state.phase {
            counters.countDraining(-1)
        } else {
            counters.countConnection(-1)
        }
        abandonRequest(connection)
        releaseHeld(connection)
        connection.state.enter(.closed)
        guard connection.hasDrainSlot else { return }
        connection.hasDrainSlot = false
        environment.drainSlots.release(for: connection.peer)
    }

    private func abandonRequest(_ connection: Connection) {
        switch connection.state.phase {
        case .awaitingMemory(let upload):
            upload.reservation?.cancel()
            upload.abandon()
        case .body(let upload): upload.abandon()
        case .awaitingFeed(let reader), .streaming(let reader): reader.registration = nil
        default: break
        }
    }
}
