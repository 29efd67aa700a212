import BlobStore
import CLinux
package import Logging
import Replication

/// Opens the store, starts the threads, accepts until it is told to stop, and stops in order.
package enum Daemon {
    package enum End {
        /// It was told to stop. Everything that it has answered is on disk.
        case stopped
        case outcomeUnknown
        /// Another daemon leads its shard, or its store must be rebuilt: start it again.
        case deposed
    }

    /// Runs until it has stopped. Calls `reload` for each SIGHUP, and `onReady` once clients can connect.
    package static func run(
        _ options: DaemonOptions, log: Logger, manager: ServiceManager,
        reload: @escaping Reload.Read, onReady: (String) -> Void
    ) throws(StartFailure) -> End {
        clinux_ignore_signals()
        let descriptorMax = Int(clamping: clinux_raise_descriptor_limit())
        do {
            // Before any thread starts, so that all threads leave the signals to this one.
            let signals = try OwnedDescriptor(
                taking: clinux_stop_signals(), from: "signalfd")
            let access = try options.replica.shard.map {
                try ShardAccess(
                    shard: $0, options.replica, isLogging: options.limits.isLogging, log: log)
            }
            let store = try open(options, access, log)
            try allowZeroCopy(store, options, log)
            let links = LinkKeys(try options.signingKeyPath.map(SigningKeyFile.read))
            let sockets = try DaemonSockets(options, manager, log)
            let daemon = try RunningDaemon(
                store, options, links, access, descriptorMax: descriptorMax, manager: manager,
                log: log)
            // So that nothing is acknowledged here that another daemon decides differently.
            daemon.waitForStart()
            var acceptor = try daemon.makeAcceptor(sockets, consume signals, reload: reload)
            onReady(
                "blobd \(blobdVersion) ready: socket=\(sockets.main.path) "
                    + "data=\(options.dataPath) workers=\(options.workerCount)")
            return daemon.serve(&acceptor, sockets)
        } catch is StoppedAtStart {
            log.notice("Stopped before it was ready")
            return .stopped
        } catch {
            throw StartFailure(description: "\(error)")
        }
    }

    /// Large payloads are sent with `sendfile`, without a copy: readers get pages of the file itself.
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

    private static func open(
        _ options: DaemonOptions, _ access: ShardAccess?, _ log: Logger
    ) throws -> BlobStore {
        var storeOptions = options.storeOptions
        storeOptions.onLogNotice = { notice in
            switch notice {
            case .replayed, .hasRoomAgain: log.notice("\(notice)")
            case .lastRecordDropped, .discarded, .leftOut, .lacksRoom: log.warning("\(notice)")
            }
        }
        storeOptions.beforeMapping = { (directory) throws(StoreError) in
            try CrashMarker.check(directory, log)
        }
        storeOptions.isReplicated = access != nil
        storeOptions.evictsBlobs = options.replica.localByteCountMax != nil
        let whole = storeOptions
        storeOptions.usesWriteAheadLog = options.limits.isLogging
        let logging = storeOptions
        let open = { try BlobStore.open(at: options.dataPath, options: logging) }
        guard let access else { return try open() }
        let watch = try StartWatch(access)
        let store = Result {
            try ReplicaStart(options.dataPath, whole, access, open: open)
                .run(on: try access.makeBucket())
        }
        watch.end()
        // The attempt was interrupted, or its result is not needed.
        guard !access.isStopped else { throw StoppedAtStart() }
        return try store.get()
    }
}
