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

    private static func environment(
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
        let accessLog = try options.accessLogPath.map { path throws(SystemError) in
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

    /// Threads that fetch payloads from the bucket: one where that is only for damaged ones.
    private static func fetchThreadCount(
        _ store: BlobStore, _ options: DaemonOptions, _ access: ShardAccess?
    ) throws -> Int {
        guard access != nil else { return 0 }
        let isNeeded =
            try options.replica.localByteCountMax != nil || store.evictedBlobs().blobs > 0
        return isNeeded ? FetchThreads.count : FetchThreads.mendCount
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
                // Made on its own thread, and never seen by another.
                try Worker(index: index, inbox: inbox, environment: environment).run()
            } catch {
                environment.context.log.critical("Cannot start a worker: \(error)")
                // Its connections would wait forever.
                exit(1)
            }
        }
    }

    /// Waits until it is known whether this daemon leads, but not for long: without the bucket it serves, too.
    func waitForStart() {
        if shardThreads != nil { context.replica.waitForStart() }
    }

    /// Accepts connections as long as the sockets are open.
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

    /// Accepts until there is a reason to stop, and stops in order: no new connections, then the answers under way,
    /// then the queue.
    func serve(
        _ acceptor: inout Acceptor, _ sockets: borrowing DaemonSockets
    ) -> Daemon.End {
        reports.ready()
        let reason = acceptor.run()
        reports.stopping("finishing the answers under way")
        acceptor.close()
        sockets.remove()
        // From here on workers close sockets whose peers may not have read everything.
        context.store.keepLeases()
        if case .signal(let number) = reason {
            context.log.notice("Stopping on signal \(number)")
        } else {
            context.log.notice("Stopping")
        }
        notifyWorkers(.stop)
        while context.counters.runningWorkerCount > 0 {
            // A second signal does not wait for anybody.
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

/// Tells the main thread once that the daemon cannot continue: a sync has failed, or another daemon leads.
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
    /// Descriptors that are left unused, for spooled bodies and whatever libraries open.
    static let reserve = 32
    static let spoolCountCap = 512
    /// Connections whose peers have not read what was sent without a copy: each may come to drain. Payloads are copied to
    /// the others.
    static let drainingCountCap = 2_048
    private static let drainingCountMin = 256

    let connectionCountMax: Int
    let spoolCountMax: Int
    /// Connections that have ended and are kept until their peers have read what they were sent.
    let drainingCountMax: Int

    /// Connections are fewer than `wanted` where too little would be left for files and for draining: as much as is
    /// wanted for these, or an eighth of what there is.
    init(descriptorMax: Int, connectionCountMax wanted: Int, workerCount: Int) {
        // Standard streams, the store's files, the listener, signals; an epoll set and an eventfd
        // for each worker; what each publisher compresses a spooled body to.
        let used = 24 + 2 * workerCount + PublisherPool.threadCount
        let free = max(8, descriptorMax - Self.reserve - used)
        let spools = max(1, min(Self.spoolCountCap, free / 8))
        let draining = max(1, min(Self.drainingCountMin, free / 8))
        spoolCountMax = spools
        connectionCountMax = min(wanted, free - spools - draining)
        // What is left over is for draining, too.
        drainingCountMax = min(
            Self.drainingCountCap, free - spools - connectionCountMax)
    }

    /// Tells the operator where there are fewer connections than `limits` allow.
    func note(_ limits: DaemonLimits, descriptorMax: Int, _ log: Logger) {
        guard connectionCountMax < limits.connectionCountMax else { return }
        log.notice(
            "Descriptors (ulimit -n \(descriptorMax)) allow \(connectionCountMax) connections, not \(limits.connectionCountMax)"
        )
    }
}
