import BlobProtocol
import BlobStore
import CLinux
import Glibc
package import Logging
import Replication
import Synchronization

/// The daemon: opens the store, starts the threads, accepts until it is told to stop, and ends in
/// order.
package enum Daemon {
    /// Why a daemon could not start: words for the operator.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// How a daemon ended.
    package enum End {
        /// It was told to stop, and everything it had answered is on disk.
        case stopped
        /// A sync has failed.
        case outcomeUnknown
        /// Another daemon leads its shard, or its store must be made anew: start it again.
        case deposed
    }

    /// Runs a daemon. Returns when it has stopped.
    ///
    /// - Parameters:
    ///   - options: checked ones.
    ///   - log: where it says what an operator should know.
    ///   - manager: what has started the process.
    ///   - reload: called for a SIGHUP, on the calling thread.
    ///   - onReady: called once, when clients can connect.
    package static func run(
        _ options: DaemonOptions, log: Logger, manager: ServiceManager,
        reload: @escaping Reload.Read, onReady: (String) -> Void
    ) throws(Failure) -> End {
        clinux_ignore_signals()
        let descriptorMax = Int(clamping: clinux_raise_descriptor_limit())
        do {
            // Before any thread starts, so that all of them leave the signals to this one.
            let signals = try OwnedDescriptor(
                taking: clinux_stop_signals(), from: "signalfd")
            let access = try options.replica.shard.map {
                try ShardAccess(
                    shard: $0, options.replica, isLogging: options.limits.isLogging, log: log)
            }
            let store = try open(options, access, log)
            try allowZeroCopy(store, options, log)
            if options.limits.isLogging, store.replicationState?.role != .follower {
                try beginLogging(store, log)
            }
            let links = LinkKeys(try options.signingKeyPath.map(SigningKeyFile.read))
            let socket =
                if let passed = manager.sockets.main {
                    try take(passed, "socket-group", options.socketGroup, log)
                } else {
                    try SocketFile(
                        path: options.socketPath, mode: options.socketMode,
                        group: options.socketGroup)
                }
            var deviceSocket: SocketFile?
            let end: End
            do {
                if let passed = manager.sockets.device {
                    guard links.keys != nil else {
                        throw Failure(
                            description:
                                "the device socket that is passed answers signed links: give --signing-keys"
                        )
                    }
                    deviceSocket = try take(
                        passed, "device-socket-group", options.deviceSocketGroup, log)
                } else if let path = options.deviceSocketPath {
                    deviceSocket = try SocketFile(
                        path: path, mode: options.deviceSocketMode,
                        group: options.deviceSocketGroup, flag: "--device-socket")
                }
                let failure = try FailureSignal()
                let daemon = try RunningDaemon(
                    store, options, links, access, descriptorMax: descriptorMax,
                    failure: failure, manager: manager, log: log)
                // So that nothing is acknowledged here that was decided otherwise elsewhere.
                daemon.waitForStart()
                var doors = [daemon.door(socket, isDevice: false)]
                if let device = deviceSocket.take() {
                    doors.append(daemon.door(device, isDevice: true))
                    deviceSocket = consume device
                }
                var acceptor = try daemon.makeAcceptor(doors, consume signals, reload: reload)
                onReady(
                    "blobd \(blobdVersion) ready: socket=\(socket.path) "
                        + "data=\(options.dataPath) workers=\(options.workerCount)")
                end = daemon.serve(&acceptor) {
                    socket.remove()
                    deviceSocket?.remove()
                }
            } catch {
                socket.remove()
                deviceSocket?.remove()
                throw error
            }
            return end
        } catch let error as Failure {
            throw error
        } catch is StoppedAtStart {
            log.notice("Stopped before it was ready")
            return .stopped
        } catch {
            throw Failure(description: "\(error)")
        }
    }

    /// Takes a socket that is passed. Its group is its unit's, whatever the configuration says.
    private static func take(
        _ descriptor: Int32, _ setting: String, _ group: UInt32?, _ log: Logger
    ) throws -> SocketFile {
        let socket = try SocketFile(passed: descriptor)
        var status = stat()
        if let group, lstat(socket.path, &status) == 0, status.st_gid != group {
            log.warning(
                "\(setting) is not used: \(socket.path) is passed by a socket unit, whose SocketGroup= counts"
            )
        }
        return socket
    }

    /// Large payloads leave by `sendfile`, zero-copy: readers get pages of the file itself.
    private static func allowZeroCopy(
        _ store: BlobStore, _ options: DaemonOptions, _ log: Logger
    ) throws {
        do {
            try store.allowZeroCopy(
                at: .now, graceMilliseconds: Int64(options.limits.zeroCopyGraceMilliseconds))
        } catch StoreError.full {
            log.warning("No space to record this start: zero-copy send is off")
        }
    }

    /// Short changes are acknowledged once they are in the log.
    private static func beginLogging(_ store: BlobStore, _ log: Logger) throws {
        do {
            try store.beginLogging()
        } catch StoreError.full {
            log.warning(
                "No space for the write-ahead log: each change is committed before it is acknowledged"
            )
        }
    }

    private static func open(
        _ options: DaemonOptions, _ access: ShardAccess?, _ log: Logger
    ) throws -> BlobStore {
        var storeOptions = options.storeOptions
        storeOptions.onLogNotice = { notice in
            switch notice {
            case .replayed: log.notice("\(notice)")
            case .lastRecordDropped, .discarded: log.warning("\(notice)")
            }
        }
        storeOptions.beforeMapping = { (directory) throws(StoreError) in
            try CrashMarker.check(directory, log)
        }
        storeOptions.isReplicated = access != nil
        storeOptions.evictsBlobs = options.replica.localByteCountMax != nil
        let whole = storeOptions
        let open = { try BlobStore.open(at: options.dataPath, options: whole) }
        guard let access else { return try open() }
        let watch = try StartWatch(access)
        let store = Result {
            try ReplicaStart(options.dataPath, whole, access, open: open)
                .run(on: try access.makeBucket())
        }
        watch.end()
        // Whatever it was doing did not come to its end, or is not needed.
        guard !access.isStopped else { throw StoppedAtStart() }
        return try store.get()
    }
}

/// Told once that a sync has failed; shared by the writer, which tells, and the main thread, which
/// waits.
final class FailureSignal: Sendable {
    let signal: WakeSignal
    private let deposed = Atomic(false)

    /// Whether it is that another daemon leads.
    var isDeposed: Bool { deposed.load(ordering: .acquiring) }

    /// Tells that another daemon leads.
    func depose() {
        deposed.store(true, ordering: .releasing)
        signal.notify()
    }

    init() throws(SystemError) {
        signal = try WakeSignal()
    }
}

/// The threads of a daemon and what they share.
private struct RunningDaemon {
    private let environment: WorkerEnvironment
    private let options: DaemonOptions
    private let descriptorMax: Int
    private let budget: DescriptorBudget
    private let inboxes: [WorkerInbox]
    private let workers: ServiceThread
    private let scrubThread: ScrubThread
    private let replicaThread: ReplicaThread?
    private let bucketThread: BucketMaintenanceThread?
    private let fetchThreads: FetchThreads?
    private let evictionThread: EvictionThread?
    private let failure: FailureSignal
    private let reports: ServiceReports
    private let log: Logger

    init(
        _ store: BlobStore, _ options: DaemonOptions, _ links: LinkKeys, _ access: ShardAccess?,
        descriptorMax: Int, failure: FailureSignal, manager: ServiceManager, log: Logger
    ) throws {
        let budget = DescriptorBudget(
            descriptorMax: descriptorMax, connectionCountMax: options.limits.connectionCountMax,
            workerCount: options.workerCount)
        budget.note(options.limits, descriptorMax: descriptorMax, log)
        self.budget = budget
        self.descriptorMax = descriptorMax
        self.options = options
        let limits = LiveLimits(options.limits)
        self.failure = failure
        self.log = log
        let counters = DaemonCounters(workerCount: options.workerCount)
        let bodyMemory = BodyMemory(
            BodyMemory.Limits(
                byteCountMax: options.limits.bodyMemoryByteCountMax,
                spoolCountMax: budget.spoolCountMax))
        let scrub = try ScrubState()
        let oldestSnapshot = OldestSnapshot()
        let accessLog = try options.accessLogPath.map { path throws(SystemError) in
            try AccessLog(path: path, format: options.accessLogFormat, log: log)
        }
        let replica = try ReplicaStatus(
            options.replica, role: ReplicaStatus.Role(of: store.replicationState),
            counters: access?.counters,
            fetchThreadCount: try Self.fetchThreadCount(store, options, access))
        let writer = try WriterThread(
            store, limits: limits, bodyMemory: bodyMemory, counters: counters,
            oldestSnapshot: oldestSnapshot, scrub: scrub, replica: replica, log: log,
            onOutcomeUnknown: { failure.signal.notify() })
        let publishers = try PublisherPool()
        let sendsZeroCopy = options.limits.linkedByteCountMin > 0 && store.allowsZeroCopy
        let pages = sendsZeroCopy ? store.dataPages() : nil
        if pages == nil, sendsZeroCopy {
            log.warning("data.mdb is not in /proc/self/maps: zero-copy send is off")
        }
        var makeSource: (@Sendable () -> LongBlobSource)?
        if let access { makeSource = { BackupSource.make(store, access, log) } }
        let figures = FigureSource(
            store: store, counters: counters, bodyMemory: bodyMemory, limits: limits,
            accessLog: accessLog)
        environment = WorkerEnvironment(
            store: store, limits: limits, counters: counters, bodyMemory: bodyMemory,
            drainSlots: DrainSlots(countMax: budget.drainingCountMax),
            writer: writer, replica: replica, publishers: publishers,
            backups: BackupThreads(store, makeSource: makeSource, log: log), links: links,
            statistics: StatisticsDocument(source: figures, scrub: scrub),
            metrics: MetricsDocument(
                source: figures, oldestSnapshot: oldestSnapshot, replica: replica),
            pages: pages,
            linkedByteCountMin: pages == nil ? .max : options.limits.linkedByteCountMin,
            accessLog: accessLog, log: log)
        try accessLog?.start()
        try writer.start()
        scrubThread = try ScrubThread(store, scrub, limits: limits, log: log)
        let context = access.map {
            ReplicaThread.Context(
                store: store, writer: writer, replica: replica, access: $0, log: log)
        }
        replicaThread = try context.map { context throws(SystemError) in
            try ReplicaThread(context, onDeposed: { failure.depose() })
        }
        bucketThread = try context.map { context throws(SystemError) in
            try BucketMaintenanceThread(context)
        }
        fetchThreads = try context.map { context throws(SystemError) in
            try FetchThreads(context)
        }
        var evictionThread: EvictionThread?
        if let context, let byteCountMax = options.replica.localByteCountMax {
            evictionThread = try EvictionThread(context, byteCountMax: byteCountMax)
        }
        self.evictionThread = evictionThread
        try publishers.start(writer)
        var inboxes: [WorkerInbox] = []
        workers = try ServiceThread()
        for index in 0..<options.workerCount {
            let inbox = try WorkerInbox()
            inboxes.append(inbox)
            try Self.startWorker(index, inbox, environment, on: workers)
        }
        self.inboxes = inboxes
        reports = ServiceReports(manager, counters, inboxes, writer, log)
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
            defer { environment.counters.workers[index].noteEnd() }
            do {
                // Made on its own thread, and never seen by another.
                try Worker(index: index, inbox: inbox, environment: environment).run()
            } catch {
                environment.log.critical("Cannot start a worker: \(error)")
                // Its connections would wait for ever.
                exit(1)
            }
        }
    }

    /// Waits until it is known whether this daemon leads, but not for long: without the bucket it serves, too.
    func waitForStart() {
        guard replicaThread != nil else { return }
        environment.replica.waitForStart()
    }

    /// A socket and who may connect to it.
    func door(_ socket: borrowing SocketFile, isDevice: Bool) -> Acceptor.Door {
        Acceptor.Door(
            number: socket.listener.number, isDevice: isDevice,
            policy: PeerPolicy(
                allowedUserIDs: options.allowedUserIDs, trustsMode: socket.trustsMode))
    }

    /// - Parameters:
    ///   - doors: the sockets, which stay open.
    ///   - signals: what reads the signals.
    ///   - reload: called for a SIGHUP.
    func makeAcceptor(
        _ doors: [Acceptor.Door], _ signals: consuming OwnedDescriptor,
        reload: @escaping Reload.Read
    ) throws(SystemError) -> Acceptor {
        let reloader = Reloader(
            options, environment, descriptorMax: descriptorMax, log, read: reload)
        return try Acceptor(
            doors: doors, signals: signals, failure: failure.signal,
            connectionCountMax: budget.connectionCountMax, counters: environment.counters,
            inboxes: inboxes, log: log,
            beat: reports.interval.map { [reports] in
                Acceptor.Beat(milliseconds: $0, run: reports.beat)
            },
            reload: { [reports] in reports.around(reloader.reload) })
    }

    /// Accepts until there is a reason to stop, and stops in order: no new connections, then the
    /// answers under way, then the payloads and changes in the queue.
    ///
    /// - Parameter removeSockets: called when nobody is accepted any more.
    func serve(_ acceptor: inout Acceptor, removeSockets: () -> Void) -> Daemon.End {
        reports.ready()
        let reason = acceptor.run()
        reports.stopping("finishing the answers under way")
        acceptor.close()
        removeSockets()
        // From here on workers close sockets whose peers may not have read everything, and the
        // writer still writes.
        environment.store.keepLeases()
        switch reason {
        case .signal(let number):
            log.notice("Stopping on signal \(number)")
            notifyWorkers(.stop)
        case .outcomeUnknown:
            log.notice("Stopping")
            notifyWorkers(.stop)
        }
        stopAtOnceOnSecondSignal(&acceptor)
        workers.join()
        replicaThread?.close()
        bucketThread?.close()
        evictionThread?.close()
        fetchThreads?.close()
        environment.backups.close()
        scrubThread.close()
        environment.publishers.close()
        environment.writer.close()
        environment.accessLog?.close()
        switch reason {
        case .signal:
            log.notice("Stopped")
            return .stopped
        case .outcomeUnknown: return failure.isDeposed ? .deposed : .outcomeUnknown
        }
    }

    private func stopAtOnceOnSecondSignal(_ acceptor: inout Acceptor) {
        while environment.counters.runningWorkerCount > 0 {
            if acceptor.waitForSignal(milliseconds: 20) { notifyWorkers(.stopAtOnce) }
        }
    }

    private func notifyWorkers(_ content: WorkerMessage.Content) {
        for inbox in inboxes { inbox.post(WorkerMessage(token: .worker, content: content)) }
    }
}
