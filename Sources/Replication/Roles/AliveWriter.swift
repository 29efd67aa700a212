package import BlobStore

/// Says that a leader is alive, beside the thread that ships: also while that uploads a long payload. A step every few
/// seconds, on a thread and a connection of its own.
package struct AliveWriter {
    private let store: BlobStore
    private let host: any ReplicaHost
    private var epoch: UInt64 = 0
    private var since = Timestamp(milliseconds: 0)
    private var counter: UInt64 = 0
    private var progress: UInt64?
    /// How long replication has not got on, between steps that reached the bucket. What lies around one that did not is
    /// left out: when the bucket comes back, this is back before the first segment is.
    private var stalledMilliseconds: Int64 = 0
    private var steppedAt: Int64?

    package init(_ store: BlobStore, _ host: any ReplicaHost) {
        self.store = store
        self.host = host
    }

    /// Overwrites `alive/…`, where this host leads. One request.
    ///
    /// - Returns: milliseconds until the next step.
    package mutating func step(on bucket: any Bucket) throws(ReplicationError) -> Int {
        guard let epoch = host.aliveEpoch else { return ReplicationLimits.aliveLookMilliseconds }
        if epoch != self.epoch {
            (self.epoch, since, counter, progress) = (epoch, host.now, 0, nil)
        }
        // A leader that reaches the bucket here and ships nothing is none, whatever keeps it from that.
        let (now, progress) = (host.uptime, host.progress.count)
        if progress != self.progress {
            (self.progress, stalledMilliseconds) = (progress, 0)
        } else if let steppedAt {
            stalledMilliseconds += now - steppedAt
        }
        steppedAt = now
        guard stalledMilliseconds < ReplicationLimits.stalledMilliseconds else {
            return ReplicationLimits.beatMilliseconds
        }
        let document = AliveDocument(
            storeID: store.id.description, epoch: epoch, host: host.settings.hostName,
            since: since, counter: counter + 1,
            segment: store.replicationState?.position.number ?? 0, time: host.now)
        do throws(ReplicationError) {
            try bucket.put(ShardNames.alive(epoch), document.bytes)
        } catch {
            steppedAt = nil
            throw error
        }
        counter += 1
        return ReplicationLimits.beatMilliseconds
    }
}

/// How long a sign of life may take: it is of no use when it comes late, and a bucket may be slow.
package struct BeatTimeout {
    private let first: Int
    package private(set) var milliseconds: Int

    package init(_ settings: ReplicaSettings) {
        first = Swift.max(
            ReplicationLimits.beatTimeoutMilliseconds,
            min((settings.autoPromoteMilliseconds ?? 0) / 3, Self.max))
        milliseconds = first
    }

    private static let max = ReplicationLimits.beatTimeoutMillisecondsMax

    /// What takes all of it may be under way still.
    package mutating func noteFailure(after passed: Int) {
        if passed >= milliseconds { milliseconds = min(2 * milliseconds, Self.max) }
    }

    package mutating func noteSuccess(after passed: Int) {
        if passed < first { milliseconds = first }
    }
}
