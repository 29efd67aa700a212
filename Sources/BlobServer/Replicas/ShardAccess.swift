import BlobStore
import Logging
import ObjectStore
import Replication
import Synchronization

/// How the threads of a daemon reach the bucket of its shard.
final class ShardAccess: ShardHost {
    let settings: ReplicaSettings
    private let bucket: ObjectBucket
    private let logger: Logger
    /// What its requests are counted in.
    var counters: ObjectStoreCounters { bucket.counters }
    private let stopSignal = StopSignal()
    private let checked = Atomic(false)

    /// - Parameters:
    ///   - shard: `s3://bucket/prefix`. The rest is in the environment, as for every program that uses S3.
    ///   - isLogging: whether changes are acknowledged in the write-ahead log.
    init(shard: String, _ options: ReplicaOptions, isLogging: Bool, log: Logger) throws {
        logger = log
        bucket = try ObjectBucket(shard)
        var settings = ReplicaSettings()
        settings.shardName = shard
        settings.hostName = options.hostName
        settings.mayBegin = options.replicate != nil
        settings.isLogging = isLogging
        settings.localByteCountMax = options.localByteCountMax
        settings.autoPromoteMilliseconds = options.autoPromoteMilliseconds
        self.settings = settings
    }

    /// The shard, in words.
    var name: String { settings.shardName }

    /// Makes a client, for one thread.
    func makeBucket() throws -> any Bucket { try S3Bucket(bucket, stop: stopSignal) }

    /// Has all clients stop what they wait for.
    func stop() { stopSignal.stop() }

    var isStopped: Bool { stopSignal.isStopped }

    // MARK: - ShardHost

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
                "Nothing can be deleted from \(name), and what nobody needs stays there: \(error)")
        }
        guard !report.isSound else { return }
        throw ReplicaFailure(
            description:
                "\(name) cannot be replicated to: the server does not keep conditional creates (\(report.faults.first ?? "")); blobd probe \(name) shows more"
        )
    }

    func wait(milliseconds: Int) -> Bool { stopSignal.wait(milliseconds: milliseconds) }
}
