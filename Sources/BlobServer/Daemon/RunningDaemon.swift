import BlobStore
import Glibc
import Logging
import Synchronization

struct RunningDaemon {
    private let environment: WorkerEnvironment
    private let options: DaemonOptions
    private let descriptorMax: Int
    private let budget: DescriptorBudget
    private let inboxes: [WorkerInbox]
    private let workers: ServiceThread
    private let shardThreads: ShardThreads?
    private let failure: FailureSignal
    private let reports: ServiceReports

    private var context: DaemonContext { environment.context }

    init(
        _ store: BlobStore, _ options: DaemonOptions, _ links: LinkKeys, _ access: ShardAccess?,
        descriptorMax: Int, manager: ServiceManager, log: Logger
    ) throws {
        let budget = DescriptorBudget(
            descriptorMax: descriptorMax, connectionCountMax: options.limits.connectionCountMax,
            workerCount: options.workerCount)
        budget.note(options.limits, descriptorMax: descriptorMax, log)
        let failure = try FailureSignal()
        let context = DaemonContext(
            store: store, limits: LiveLimits(options.limits),
            counters: DaemonCounters(workerCount: options.workerCount),
            bodyMemory: BodyMemory(
                BodyMemory.Limits(
                    byteCountMax: options.limits.bodyMemoryByteCountMax,
                    spoolCountMax: budget.spoolCountMax)),
            oldestSnapshot: OldestSnapshot(), scrub: try ScrubState(),
            replica: try ReplicaStatus(
                options.replica, role: ReplicaStatus.Role(of: store.replicationState),
                counters: access?.counters,
                fetchThreadCount: try Self.fetchThreadCount(store, options, access)),
            log: log)
        let writer = try WriterThread(context, onOutcomeUnknown: { failure.signal.notify() })
        environment = try Self.environment(context, writer, options, budget, links, access)
        self.failure = failure
        self.budget = budget
        self.descriptorMax = descriptorMax
        self.options = options
        try environment.accessLog?.start()
        try writer.start()
        try context.scrub.start(context)
        shardThreads = try access.map { access throws(SystemError) in
            try ShardThreads(
                ShardContext(writer: writer, access: access), onDeposed: { failure.depose() })
        }
        try environment.publishers.start(writer)
        var inboxes: [WorkerInbox] = []
        workers = try ServiceThread()
        for index in 0..<options.workerCount {
            let inbox = try WorkerInbox()
            inboxes.append(inbox)
            try Self.startWorker(index, inbox, environment, on: workers)
        }
        self.inboxes = inboxes
        reports = ServiceReports(manager, writer, inboxes)
    }

    static func environment(
        _ context: DaemonContext, _ writer: WriterThread, _ options: DaemonOptions,
        _ budget: DescriptorBudget, _ links: LinkKeys, _ access: ShardAccess?
    ) throws -> WorkerEnvironment {
        let (store, log) = (context.store, context.log)
        let sendsZeroCopy = options.limits.linkedByteCountMin > 0 && store.allowsZeroCopy
        let pages = sendsZeroCopy ? store.dataPages() : nil
        if pages == nil, sendsZeroCopy {
            log.warning("data.mdb is not in /proc/self/maps: zero-copy send is off")
        }
        var makeSource: (@Sendable () -> LongBlobSource)?
        if let access { makeSource = { store.missingBlobs(access, log) } }
        let accessLog = try options.accessLogPath.map { path in
            try AccessLog(path: path, format: options.accessLogFormat, log: log)
        }
        let figures = FigureSource(
            store: store, counters: context.counters, bodyMemory: context.bodyMemory,
            limits: context.limits, accessLog: accessLog)
        return WorkerEnvironment(
            context: context, writer: writer, publishers: try PublisherPool(),
            backups: BackupThreads(context, makeSource: makeSource),
            drainSlots: DrainSlots(countMax: budget.drainingCountMax), links: links,
            statistics: StatisticsDocument(source: figures, scrub: context.scrub),
            metrics: MetricsDocument(
                source: figures, oldestSnapshot: context.oldestSnapshot, replica: context.replica),
            pages: pages,
            linkedByteCountMin: pages == nil ? .max : options.limits.linkedByteCountMin,
            accessLog: accessLog)
    }

    /// Threads that fetch payloads from the bucket: one if only damaged payloads are fetched.
    private static func fetchThreadCount(
        _ store: BlobStore, _ options: DaemonOptions, _ access: ShardAccess?
    ) throws -> Int {
        guard access != nil else { return 0 }
        let isNeeded =
            try options.replica.localByteCountMax != nil || store.evictedBlobs().blobs > 0
        return isNeeded ? FetchThreads.count : FetchThreads.repairCount
    }

    private static func startWorker(
        _ index: Int, _ inbox: WorkerInbox, _ environment: WorkerEnvironment,
        on workers: ServiceThread
    ) throws(SystemError) {
        try workers.start("blobd-worker-\(index)") {
            defer {
                environment.context.counters.workers[index].isRunning.store(
                    false, ordering: .releasing)
            }
            do {
                // Created on its own thread, the only one that uses it.
                try Worker(index: index, inbox: inbox, environment: environment).run()
            } catch {
                environment.context.log.critical("Cannot start a worker: \(error)")
                // Its connections would wait forever.
                exit(1)
            }
        }
    }

    /// Waits until it is known whether this daemon leads, but only briefly: it also serves without the bucket.
    func waitForStart() {
        if shardThreads != nil { context.replica.waitForStart() }
    }

    /// Accepts connections while the sockets are open.
    func makeAcceptor(
        _ sockets: borrowing DaemonSockets, _ signals: consuming OwnedDescriptor,
        reload: @escaping Reload.Read
    ) throws(SystemError) -> Acceptor {
        let reloader = Reloader(options, environment, descriptorMax: descriptorMax, read: reload)
        return try Acceptor(
            sockets.listeners, signals: signals, failure: failure.signal,
            connectionCountMax: budget.connectionCountMax, context, inboxes,
            heartbeat: reports.interval.map { [reports] in
                Acceptor.Heartbeat(milliseconds: $0, run: reports.beat)
            },
            reload: { [reports] in reports.around(reloader.reload) })
    }

    /// Accepts until there is a reason to stop, then stops in order: new connections, answers in progress, the queue.
    func serve(
        _ acceptor: inout Acceptor, _ sockets: borrowing DaemonSockets
    ) -> Daemon.End {
        reports.ready()
        let reason = acceptor.run()
        reports.stopping("finishing the answers under way")
        acceptor.close()
        sockets.remove()
        // From now on, workers close sockets whose peers may not have read everything.
        context.store.keepLeases()
        if case .signal(let number) = reason {
            context.log.notice("Stopping on signal \(number)")
        } else {
            context.log.notice("Stopping")
        }
        notifyWorkers(.stop)
        while context.counters.runningWorkerCount > 0 {
            // After a second signal, nothing is waited for.
            if acceptor.waitForSignal(milliseconds: 20) { notifyWorkers(.stopAtOnce) }
        }
        workers.join()
        shardThreads?.close()
        environment.backups.close()
        context.scrub.close()
        environment.publishers.close()
        environment.writer.close()
        environment.accessLog?.close()
        guard case .signal = reason else {
            return failure.isDeposed ? .deposed : .outcomeUnknown
        }
        context.log.notice("Stopped")
        return .stopped
    }

    private func notifyWorkers(_ content: WorkerMessage.Content) {
        for inbox in inboxes { inbox.post(WorkerMessage(token: .worker, content: content)) }
    }
}

/// Notifies the main thread once that the daemon cannot continue: a sync has failed, or another daemon leads.
private final class FailureSignal: Sendable {
    let signal: WakeSignal
    private let deposed = Atomic(false)

    init() throws(SystemError) { signal = try WakeSignal() }

    var isDeposed: Bool { deposed.load(ordering: .acquiring) }

    func depose() {
        deposed.store(true, ordering: .releasing)
        signal.notify()
    }
}

struct DescriptorBudget: Equatable {
    /// Descriptors kept free, for spooled bodies and for libraries.
    static let reserve = 32
    static let spoolCountCap = 512
    /// The most connections that are sent payloads without a copy. Each may have to drain; the others get copies.
    static let drainingCountCap = 2_048
    private static let drainingCountMin = 256

    let connectionCountMax: Int
    let spoolCountMax: Int
    /// The most closed connections that are kept until their peers have read everything.
    let drainingCountMax: Int

    /// Descriptors for files and for draining come first: what these want, but at most an eighth each. So there may be
    /// fewer connections than `wanted`.
    init(descriptorMax: Int, connectionCountMax wanted: Int, workerCount: Int) {
        // Standard streams, the store's files, the listener, signals; an epoll set and an eventfd for each worker; the
        // file into which each publisher compresses a spooled body.
        let used = 24 + 2 * workerCount + PublisherPool.threadCount
        let free = max(8, descriptorMax - Self.reserve - used)
        let spools = max(1, min(Self.spoolCountCap, free / 8))
        let draining = max(1, min(Self.drainingCountMin, free / 8))
        spoolCountMax = spools
        connectionCountMax = min(wanted, free - spools - draining)
        // The remaining descriptors are for draining, too.
        drainingCountMax = min(
            Self.drainingCountCap, free - spools - connectionCountMax)
    }

    /// Logs a note if there are fewer connections than `limits` allow.
    func note(_ limits: DaemonLimits, descriptorMax: Int, _ log: Logger) {
        guard connectionCountMax < limits.connectionCountMax else { return }
        log.notice(
            "Descriptors (ulimit -n \(descriptorMax)) allow \(connectionCountMax) connections, not \(limits.connectionCountMax)"
        )
    }
}
