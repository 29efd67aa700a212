import BlobStore
import CLinux
import Glibc
import Logging
import ObjectStore
import Replication
import Synchronization

/// How the daemon's threads access the bucket of its shard.
final class ShardAccess: ShardHost {
    let settings: ReplicaSettings
    private let bucket: ObjectBucket
    /// The same one, for payloads that somebody waits for: a request for one that is never given holds back those for
    /// others, and nothing else.
    private let payloads: ObjectBucket
    private let logger: Logger
    var counters: ObjectStoreCounters { bucket.counters }
    private let stopSignal = StopSignal()
    private let checked = Atomic(false)

    /// `shard` is `s3://bucket/prefix`. Credentials and the rest come from the environment, as for other S3 programs.
    init(shard: String, _ options: ReplicaOptions, isLogging: Bool, log: Logger) throws {
        logger = log
        bucket = try ObjectBucket(shard, onRenewalFailure: { log.warning("\($0)") })
        payloads = ObjectBucket(
            bucket.url, access: bucket.access, limits: bucket.limits, clock: bucket.clock,
            counters: bucket.counters)
        var settings = ReplicaSettings()
        settings.shardName = shard
        settings.hostName = options.hostName
        settings.mayBegin = options.replicate != nil
        settings.isLogging = isLogging
        settings.localByteCountMax = options.localByteCountMax
        settings.autoPromoteMilliseconds = options.autoPromoteMilliseconds
        self.settings = settings
    }

    var name: String { settings.shardName }

    /// - Parameter onMoved: is told of the bytes that are sent and received.
    func makeBucket(onMoved: (@Sendable (Int) -> Void)? = nil) throws -> any Bucket {
        try S3Bucket(bucket, stop: stopSignal, onMoved: onMoved)
    }

    /// A client for payloads that somebody waits for.
    func makePayloadBucket() throws -> any Bucket { try S3Bucket(payloads, stop: stopSignal) }

    /// A client that asks once, and is not held back by others that fail, nor they by it.
    func makeLookBucket() throws -> any Bucket {
        try makeQuickBucket(milliseconds: bucket.limits.requestMilliseconds)
    }

    /// A client whose requests take so long at the most, are sent once, and are not held back by those of others
    /// that fail.
    func makeQuickBucket(milliseconds: Int) throws -> any Bucket {
        try S3Bucket(bucket.quick(milliseconds: milliseconds), stop: stopSignal)
    }

    /// Stops all waits of the clients.
    func stop() { stopSignal.stop() }

    var isStopped: Bool { stopSignal.isStopped }

    var uptime: Int64 { Instant.now.nanoseconds / 1_000_000 }

    var now: Timestamp { .now }

    func log(_ level: ReplicaLogLevel, _ text: String) {
        switch level {
        case .debug: logger.debug("\(text)")
        case .notice: logger.notice("\(text)")
        case .warning: logger.warning("\(text)")
        case .error: logger.error("\(text)")
        case .critical: logger.critical("\(text)")
        }
    }

    var isShardChecked: Bool { checked.load(ordering: .acquiring) }

    func noteShardChecked() { checked.store(true, ordering: .releasing) }

    func requireConditionalCreates() throws {
        let report = try ConditionalWriteProbe.short.run(bucket, stop: stopSignal)
        if let error = report.deletionError, error.kind != .stopped {
            logger.warning(
                "Cannot delete from \(name); objects that are no longer needed stay there: \(error)"
            )
        }
        guard let why = report.refusal else { return }
        throw ReplicaFailure(
            description: "\(name) cannot be replicated to: \(why); run blobd probe \(name)")
    }

    func wait(milliseconds: Int) -> Bool { stopSignal.wait(milliseconds: milliseconds) }
}

/// Stops a start's requests to the bucket at SIGTERM or SIGINT: writing a first base may take long, and signals are not
/// handled yet. The signal stays pending.
final class StartWatch {
    private let access: ShardAccess
    private let thread: ServiceThread

    init(_ access: ShardAccess) throws(SystemError) {
        self.access = access
        let thread = try ServiceThread()
        self.thread = thread
        let number = clinux_end_signals()
        guard number >= 0 else { throw SystemError("signalfd") }
        try thread.start("blobd-start") {
            defer { close(number) }
            var entries = [
                pollfd(fd: number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: thread.signalNumber, events: Int16(POLLIN), revents: 0),
            ]
            while poll(&entries, 2, -1) < 0 && errno == EINTR {}
            if entries[0].revents != 0 { access.stop() }
        }
    }

    func end() { thread.close() }
}

struct StoppedAtStart: Error {}

struct ShardContext: Sendable {
    let writer: WriterThread
    let access: ShardAccess

    var store: BlobStore { writer.context.store }
    var replica: ReplicaStatus { writer.context.replica }
    var log: Logger { writer.context.log }
}

struct ShardThreads: Sendable {
    private let replica: ReplicaThread
    private let bucket: BucketMaintenanceThread
    private let fetches: FetchThreads
    private let eviction: EvictionThread?
    private let alive: AliveThread

    /// `onDeposed` is called once, if this daemon must be started again.
    init(
        _ context: ShardContext, onDeposed: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        replica = try ReplicaThread(context, onDeposed: onDeposed)
        alive = try AliveThread(context)
        bucket = try BucketMaintenanceThread(context)
        fetches = try FetchThreads(context)
        if let byteCountMax = context.replica.options.localByteCountMax {
            eviction = try EvictionThread(context, byteCountMax: byteCountMax)
        } else {
            eviction = nil
        }
    }

    /// Ends the threads. Unfinished work continues after the next start.
    func close() {
        replica.close()
        alive.close()
        bucket.close()
        eviction?.close()
        fetches.close()
    }
}

extension BlobStore {
    /// Supplies a backup with payloads that are only in the bucket, using one client.
    func missingBlobs(_ access: ShardAccess, _ log: Logger) -> LongBlobSource {
        let id = id
        var bucket: (any Bucket)?
        return { blobs, put in
            for blob in blobs {
                let bytes: [UInt8]
                do {
                    let reached = try bucket ?? access.makeBucket()
                    bucket = reached
                    bytes = try LongBlobs.bytes(of: blob, in: id, on: reached)
                } catch {
                    log.error("Cannot fetch \(blob.digest) from \(access.name): \(error)")
                    throw StoreError.evicted(blob)
                }
                try put(blob, .bytes(bytes))
            }
        }
    }
}
