import BlobProtocol
import BlobStore
import CLinux
import Glibc
import Logging

struct WorkerEnvironment: Sendable {
    let context: DaemonContext
    let writer: WriterThread
    let publishers: PublisherPool
    let backups: BackupThreads
    let drainSlots: DrainSlots
    let links: LinkKeys
    let statistics: StatisticsDocument
    let metrics: MetricsDocument
    let pages: DataPages?
    /// The shortest payload that is linked, in bytes.
    let linkedByteCountMin: Int
    let accessLog: AccessLog?
}

/// A thread that serves connections. It blocks only in `epoll_wait`. Only this thread uses it and, as in
/// ``Connection``, its properties.
final class Worker {
    /// Enough to save clients wake-ups, and few enough that they have work meanwhile.
    static let batchConnectionCountMax = 16
    /// The most that is read at once while memory is short: what is read with a head is kept while its body, or its
    /// answer, waits.
    private static let inputWhileShortByteCountMax = 16 << 10

    let environment: WorkerEnvironment
    let inbox: WorkerInbox
    let counters: WorkerCounters
    let handler: RequestHandler
    let sender: ResponseSender
    let answerMemory: AnswerMemory
    let poller: Poller
    /// The time of this iteration, for deadlines.
    private(set) var now = Instant.now
    private(set) var limits: DaemonLimits
    private var generation = 0

    @exclusivity(unchecked) var connections = ConnectionTable()
    @exclusivity(unchecked) var runQueue: [ConnectionToken] = []
    @exclusivity(unchecked) var due = DueConnections()
    /// The connections whose answers are in the batch, without the one being served.
    @exclusivity(unchecked) var collected = TrivialArray<CollectedConnection>(
        capacity: Worker.batchConnectionCountMax)
    @exclusivity(unchecked) private var spin: IdleSpin
    /// Whether the last iteration answered requests, and no client waits for another thread.
    var hasAnswered = false
    /// When the last fetches of this iteration were answered. Earlier than its beginning if there were none.
    @exclusivity(unchecked) var answeredAt = Instant.now
    var nextTick = Instant.now
    /// When the worker stops; nil: it was not told to.
    var stopsAt: Instant?
    var isStopping: Bool { stopsAt != nil }
    /// Whether the requests that waited for the bucket when the time for a stop was over were refused.
    var hasRefusedWaits = false
    /// How long a stop waits for connections that have not sent anything; nil: it does not wait.
    var firstRequestEnd: Instant?

    init(
        index: Int, inbox: WorkerInbox, environment: WorkerEnvironment
    ) throws(SystemError) {
        self.environment = environment
        self.inbox = inbox
        let context = environment.context
        counters = context.counters.workers[index]
        limits = context.limits.takeNew(&generation) ?? context.limits.now
        answerMemory = AnswerMemory(
            byteCountMax: limits.answerMemoryByteCountMax,
            workerCount: context.counters.workers.count, counters: counters)
        handler = RequestHandler(
            context.store, limits: limits,
            observer: RequestObserver(
                counters, accessLog: environment.accessLog,
                slowMilliseconds: limits.slowMilliseconds, log: context.log),
            statistics: environment.statistics, metrics: environment.metrics,
            answerMemory: answerMemory, links: environment.links, replica: context.replica,
            log: context.log)
        sender = ResponseSender(
            counters: counters, pages: environment.pages, slots: environment.drainSlots,
            log: context.log)
        spin = IdleSpin(microseconds: limits.spinMicroseconds)
        poller = try Poller()
        try poller.add(inbox.signalNumber, token: ConnectionToken.worker.rawValue, .input)
    }

    func run() {
        var input = InputBuffer()
        var batch = AnswerBatch(
            linkedByteCountMin: environment.linkedByteCountMin,
            stretchByteCountMin: environment.pages?.stretchByteCountMin ?? DataPages.byteCountMin)
        while true {
            let count = wait()
            now = .now
            if let limits = environment.context.limits.takeNew(&generation) { takeOver(limits) }
            handler.beginIteration(now)
            hasAnswered = count > 0
            input.readByteCountMax =
                environment.context.bodyMemory.isWanted || answerMemory.isShort
                ? Self.inputWhileShortByteCountMax : .max
            due.takeEvents(count, asOf: now)
            serve(&input, &batch)
            if !runQueue.isEmpty {
                due.take(&runQueue, asOf: handler.observer.moment)
                serve(&input, &batch)
                due.putBack(&runQueue)
            }
            if now >= nextTick { checkDeadlines(&batch) }
            handler.observer.endIteration()
            connections.endIteration()
            batch.releaseMemory()
            if isStopping, shouldEnd() { return }
        }
    }

    /// Deadlines use the new limits; requests in progress keep the old ones.
    private func takeOver(_ limits: DaemonLimits) {
        self.limits = limits
        handler.limits = limits
        handler.observer.change(slowMilliseconds: limits.slowMilliseconds)
        answerMemory.change(
            byteCountMax: limits.answerMemoryByteCountMax,
            workerCount: environment.context.counters.workers.count)
        spin = IdleSpin(microseconds: limits.spinMicroseconds)
    }

    /// Polls briefly first if that has recently found events, then blocks.
    private func wait() -> Int {
        // Polling cannot speed up what other threads do.
        if runQueue.isEmpty, hasAnswered, spin.begins() {
            let begin = answeredAt > now ? answeredAt.nanoseconds : clinux_monotonic_ns()
            let end = spin.end(from: begin)
            repeat {
                let count = poller.wait(milliseconds: 0)
                if count > 0 {
                    spin.succeeded()
                    return count
                }
                // Lets other threads on this core run first.
                sched_yield()
            } while clinux_monotonic_ns() < end
            spin.failed()
        }
        return poller.wait(milliseconds: pause)
    }

    /// The longest time to block, in milliseconds; negative: no limit.
    private var pause: Int {
        if !runQueue.isEmpty { return 0 }
        guard connections.count > 0 || isStopping || firstRequestEnd != nil else { return -1 }
        return max(0, nextTick.milliseconds(since: now)) + 1
    }
}

// Selection of the next connection.

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

    /// The connection of the next event, if it can join the batch. If it cannot, it is served next.
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

    /// The connection to serve for an event; nil: none now. A connection with output to send goes to the run queue,
    /// since its client has had a turn. So does every connection once the pass has used up its time.
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
}

/// Decides whether a worker polls briefly before it blocks. Waking a blocked thread takes the kernel longer than a
/// fetch. After each failure it skips twice as many waits, so an idle daemon polls once in a thousand waits.
struct IdleSpin {
    /// Duration of one try; 0: never.
    private let nanoseconds: Int64
    /// Waits to skip before the next try, now and after the next failure.
    private var skipped = 0
    private var skipsAfterFailure = 1

    private static let skipCountMax = 1_024

    init(microseconds: Int) {
        nanoseconds = Int64(microseconds) * 1_000
    }

    mutating func begins() -> Bool {
        guard nanoseconds > 0 else { return false }
        guard skipped > 0 else { return true }
        skipped -= 1
        return false
    }

    /// When a try that begins now ends, on the clock of `clinux_monotonic_ns`.
    func end(from now: Int64) -> Int64 { now + nanoseconds }

    mutating func succeeded() {
        skipsAfterFailure = 1
    }

    mutating func failed() {
        skipped = skipsAfterFailure
        skipsAfterFailure = min(2 * skipsAfterFailure, Self.skipCountMax)
    }
}
