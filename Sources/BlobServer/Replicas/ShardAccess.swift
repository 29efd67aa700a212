import Logging
import ObjectStore
import Replication
import Synchronization

/// How the threads of a daemon reach the bucket of its shard.
final class ShardAccess: Sendable {
    /// The shard, in words.
    let name: String
    private let bucket: ObjectBucket
    private let log: Logger
    /// What its requests are counted in.
    var counters: ObjectStoreCounters { bucket.counters }
    private let stopSignal = StopSignal()
    private let checked = Atomic(false)

    /// Whether this process knows that the bucket has its shard, and keeps conditional creates.
    var isChecked: Bool { checked.load(ordering: .acquiring) }

    func noteChecked() { checked.store(true, ordering: .releasing) }

    /// - Parameter shard: `s3://bucket/prefix`. The rest is in the environment, as for every program that
    ///   uses S3.
    init(shard: String, log: Logger) throws {
        name = shard
        self.log = log
        bucket = try ObjectBucket(shard)
    }

    /// Makes a client, for one thread.
    func makeBucket() throws -> any Bucket { try S3Bucket(bucket, stop: stopSignal) }

    /// Refuses a server that does not keep conditional creates: every leader could be two.
    func probe() throws {
        let report = try ConditionalWriteProbe.short.run(bucket, stop: stopSignal)
        if let error = report.deletionError, error.kind != .stopped {
            log.warning(
                "Nothing can be deleted from \(name), and what nobody needs stays there: \(error)")
        }
        guard !report.isSound else { return }
        throw ReplicaFailure(
            description:
                "\(name) cannot be replicated to: the server does not keep conditional creates (\(report.faults.first ?? "")); blobd probe \(name) shows more"
        )
    }

    /// Has all clients stop what they wait for.
    func stop() { stopSignal.stop() }

    var isStopped: Bool { stopSignal.isStopped }

    /// Waits.
    ///
    /// - Returns: whether the stop came.
    func wait(milliseconds: Int) -> Bool { stopSignal.wait(milliseconds: milliseconds) }
}
