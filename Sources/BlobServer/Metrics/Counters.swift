import BlobProtocol
import BlobStore
import Synchronization

/// A count that one thread adds to and any thread reads, with plain loads and stores: no locked instruction.
struct Counter: ~Copyable, Sendable {
    private let value = Atomic<Int>(0)

    /// Adds `count`. Only for the thread that owns the counter.
    borrowing func add(_ count: Int = 1) {
        value.store(value.load(ordering: .relaxed) &+ count, ordering: .relaxed)
    }

    var total: Int { value.load(ordering: .relaxed) }
}

final class WorkerCounters: Sendable {
    let requests = RequestCounters()
    let slowest = SlowestRequests()
    let bytesSent = Counter()
    let bytesReceived = Counter()
    let timeouts = Counter()
    /// Bytes of answers that clients have not read yet.
    let answerMemory = Counter()
    /// Connections closed because they held unread answers while memory was short.
    let unreadEnds = Counter()
    /// Includes connections on their way to the worker: the acceptor adds, the worker subtracts.
    let connections = Atomic<Int>(0)
    /// Those of the device socket.
    let deviceConnections = Atomic<Int>(0)
    /// Closed connections that are kept until their peers have read everything.
    let draining = Atomic<Int>(0)
    /// Cleared when the worker ends.
    let isRunning = Atomic<Bool>(true)
    let progress = ProgressCheck()
    /// Errors that were answered. The lock is uncontended.
    private let errors = Mutex<[ErrorCode: Int]>([:])

    /// Counts a connection that begins (1) or ends (-1).
    func countConnection(isDevice: Bool, by change: Int) {
        connections.change(by: change)
        if isDevice { deviceConnections.change(by: change) }
    }

    func count(_ code: ErrorCode) {
        errors.withLock { $0[code, default: 0] += 1 }
    }

    func count(of code: ErrorCode) -> Int {
        errors.withLock { $0[code, default: 0] }
    }
}

final class DaemonCounters: Sendable {
    let workers: [WorkerCounters]
    /// Connections of users that may not connect.
    let refusedPeers = Counter()
    /// Counted by the writer.
    let publishes = Counter()
    let deletes = Counter()
    let patches = Counter()
    let responses = Counter()
    let expired = Counter()
    let batches = Counter()
    let clockJumps = Counter()
    let writerProgress = ProgressCheck()

    init(workerCount: Int) {
        workers = (0..<workerCount).map { _ in WorkerCounters() }
    }

    var requests: RequestFigures {
        workers.reduce(into: RequestFigures()) { $0.add($1.requests.figures) }
    }

    var connectionCount: Int { sum { $0.connections.now } }

    var deviceConnectionCount: Int { sum { $0.deviceConnections.now } }

    var drainingCount: Int { sum { $0.draining.now } }

    var runningWorkerCount: Int { sum { $0.isRunning.load(ordering: .acquiring) ? 1 : 0 } }

    func sum(_ counter: (WorkerCounters) -> Int) -> Int {
        workers.reduce(0) { $0 + counter($1) }
    }
}

extension Figure {
    /// The daemon's counts since its start and its current state, in the order of `GET /v1/stats` and `blobd stats`.
    package static let served: [Figure] = [
        Figure("workers") { $0.counters.workers.count },
        Figure(
            "connections", title: "connections", top: .traffic("connections", 6),
            metric: .gauge("blobd_connections", "Open connections.")
        ) { $0.counters.connectionCount },
        Figure(
            nil,
            metric: .gauge(
                "blobd_device_connections", "Open connections of the device socket.")
        ) { $0.counters.deviceConnectionCount },
        Figure(nil, metric: .gauge("blobd_connections_max", "The limit --max-connections.")) {
            $0.limits.connectionCountMax
        },
        Figure(nil, metric: .gauge("blobd_watchers_max", "The limit --max-watchers.")) {
            $0.store.feedWatch.countMax
        },
        Figure(
            "draining", title: "draining sockets",
            metric: .gauge(
                "blobd_draining_connections",
                "Closed connections whose peers have not read everything.")
        ) { $0.counters.drainingCount },
        Figure(
            "refused_peers",
            metric: .counter(
                "blobd_refused_peers_total", "Connections refused because of their user.")
        ) { $0.counters.refusedPeers.total },
        Figure(
            "body_memory_bytes", .bytes, title: "memory for bodies",
            metric: .gauge("blobd_body_memory_bytes", "Memory of request bodies.")
        ) { $0.bodyMemoryByteCount },
        Figure(nil, metric: .gauge("blobd_body_memory_max_bytes", "The limit --body-memory.")) {
            $0.limits.bodyMemoryByteCountMax
        },
        Figure(
            "body_spools", title: "files for bodies",
            metric: .gauge("blobd_body_spools", "Request bodies spooled to files.")
        ) { $0.bodySpoolCount },
        Figure(
            "answer_memory_bytes", .bytes, title: "unread answers",
            metric: .gauge("blobd_answer_memory_bytes", "Memory of unread answers.")
        ) { $0.counters.sum { $0.answerMemory.total } },
        Figure(nil, metric: .gauge("blobd_answer_memory_max_bytes", "The limit --answer-memory.")) {
            $0.limits.answerMemoryByteCountMax
        },
        Figure(
            "unread_ends", title: "closed for unread answers",
            metric: .counter(
                "blobd_unread_ends_total",
                "Connections closed to free the memory of their unread answers."
            )
        ) { $0.counters.sum { $0.unreadEnds.total } },
        // The labels of `blobd_requests_total` come from the requests.
        Figure("requests", title: "requests") { $0.requests.total },
        Figure(
            "publishes", title: "publishes", top: .rate("publishes", 1), metric: changes("publish")
        ) { $0.counters.publishes.total },
        Figure("deletes", title: "deletes", metric: changes("delete")) {
            $0.counters.deletes.total
        },
        Figure("patches", title: "patches", metric: changes("patch")) { $0.counters.patches.total },
        Figure("responses", title: "responses", metric: changes("respond")) {
            $0.counters.responses.total
        },
        Figure("feed_wakes", title: "watchers woken") { $0.store.feedWatch.wakeCount },
        Figure("expired", title: "expired", top: .rate("expiries", 8), metric: changes("expire")) {
            $0.counters.expired.total
        },
        Figure("syncs", title: "syncs") { $0.counters.batches.total },
        Figure("log_batches") { Int(clamping: $0.store.pendingCounts.batchCount) },
        Figure("log_commits") { $0.commitCount },
        Figure(
            "bytes_sent", .bytes, title: "bytes sent", top: .rate("sent", 3),
            metric: .counter("blobd_sent_bytes_total", "Bytes sent.")
        ) { $0.counters.sum { $0.bytesSent.total } },
        Figure(
            "bytes_received", .bytes, title: "bytes received", top: .rate("received", 4),
            metric: .counter("blobd_received_bytes_total", "Bytes received.")
        ) { $0.counters.sum { $0.bytesReceived.total } },
        Figure(
            "timeouts",
            metric: .counter("blobd_timeouts_total", "Connections closed at a time limit.")
        ) { $0.counters.sum { $0.timeouts.total } },
        Figure(
            "clock_jumps",
            metric: .counter(
                "blobd_clock_jumps_total", "Jumps of the wall clock that paused expiry.")
        ) { $0.counters.clockJumps.total },
        Figure(
            nil,
            metric: .counter(
                "blobd_access_log_dropped_total", "Lines dropped from the access log.")
        ) { $0.droppedLineCount },
        Figure(
            nil,
            metric: .counter("blobd_log_dropped_total", "Messages dropped from the log.")
        ) { $0.droppedMessageCount },
    ]

    private static func changes(_ kind: String) -> Sample {
        .counter("blobd_changes_total", "Changes of the store, by kind.", ("kind", kind))
    }
}

/// Tells whether a thread makes progress: it is asked for a sign, and gives one in its loop.
final class ProgressCheck: Sendable {
    private let asked = Atomic<Int>(0)
    private let answered = Atomic<Int>(0)

    /// Asks. The caller has to wake the thread.
    func ask() { asked.add(1, ordering: .relaxed) }

    func answer() { answered.store(asked.load(ordering: .relaxed), ordering: .relaxed) }

    var isAnswered: Bool {
        answered.load(ordering: .relaxed) == asked.load(ordering: .relaxed)
    }
}
