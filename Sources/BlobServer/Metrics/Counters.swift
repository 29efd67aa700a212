import BlobProtocol
import Synchronization

/// A count that one thread adds to and any thread reads.
///
/// One writer makes a plain load and store enough: no locked instruction on the path of a request.
struct Counter: ~Copyable, Sendable {
    private let value = Atomic<Int>(0)

    /// Adds `count`. Only ever called on the thread that owns the counter.
    borrowing func add(_ count: Int = 1) {
        value.store(value.load(ordering: .relaxed) &+ count, ordering: .relaxed)
    }

    /// What it has come to.
    var total: Int { value.load(ordering: .relaxed) }
}

/// What one worker has done since the start. The worker adds; the thread that answers `stats` reads.
final class WorkerCounters: Sendable {
    /// What was answered.
    let requests = RequestCounters()
    /// The slowest of it.
    let slowest = SlowestRequests()
    let bytesSent = Counter()
    let bytesReceived = Counter()
    let timeouts = Counter()
    /// Bytes of answers that are held for clients that have not read them.
    let answerMemory = Counter()
    /// Connections that were ended because they held unread answers while memory was short.
    let unreadEnds = Counter()
    /// Open connections, those on their way to the worker included: the acceptor adds, the worker
    /// subtracts.
    private let connections = Atomic<Int>(0)
    private let draining = Atomic<Int>(0)
    private let isRunning = Atomic<Bool>(true)
    /// Whether the worker comes around.
    let progress = ProgressCheck()
    private let errors: [ErrorCounter] = ErrorCode.allCases.map { ErrorCounter(code: $0) }

    private final class ErrorCounter: Sendable {
        let code: ErrorCode
        let counter = Counter()
        init(code: ErrorCode) { self.code = code }
    }

    var connectionCount: Int { connections.load(ordering: .relaxed) }

    /// Adds connections, or takes some away.
    func countConnection(_ difference: Int) {
        connections.add(difference, ordering: .relaxed)
    }

    /// Connections that have ended and are kept until their peers have read what they were sent.
    var drainingCount: Int { draining.load(ordering: .relaxed) }

    /// Adds draining connections, or takes some away.
    func countDraining(_ difference: Int) {
        draining.add(difference, ordering: .relaxed)
    }

    /// The worker has ended.
    func noteEnd() {
        isRunning.store(false, ordering: .releasing)
    }

    /// Whether the worker has not ended.
    var isWorkerRunning: Bool { isRunning.load(ordering: .acquiring) }

    /// Counts an error that is answered.
    func count(_ code: ErrorCode) {
        for error in errors where error.code == code { error.counter.add() }
    }

    /// How often `code` was answered.
    func count(of code: ErrorCode) -> Int {
        errors.reduce(0) { $0 + ($1.code == code ? $1.counter.total : 0) }
    }
}

/// What the daemon as a whole has done since the start.
final class DaemonCounters: Sendable {
    /// One for each worker.
    let workers: [WorkerCounters]
    /// Connections of users who may not connect.
    let refusedPeers = Counter()
    /// Counted by the writer.
    let publishes = Counter()
    let deletes = Counter()
    let patches = Counter()
    let responses = Counter()
    let expired = Counter()
    let batches = Counter()
    let clockJumps = Counter()
    /// Whether the writer comes around.
    let writerProgress = ProgressCheck()

    /// Counters for so many workers.
    init(workerCount: Int) {
        workers = (0..<workerCount).map { _ in WorkerCounters() }
    }

    /// What all workers have answered.
    var requests: RequestFigures {
        workers.reduce(into: RequestFigures()) { $0.add($1.requests.figures) }
    }

    /// Open connections.
    var connectionCount: Int { sum { $0.connectionCount } }

    /// Connections that have ended and are kept until their peers have read what they were sent.
    var drainingCount: Int { sum { $0.drainingCount } }

    /// Workers that have not ended.
    var runningWorkerCount: Int { sum { $0.isWorkerRunning ? 1 : 0 } }

    /// The sum of one counter over all workers.
    func sum(_ counter: (WorkerCounters) -> Int) -> Int {
        workers.reduce(0) { $0 + counter($1) }
    }
}
