package import BlobStore

/// Says that a leader is alive, beside the thread that ships: also while that uploads a long payload. A step every few
/// seconds, on a thread and a connection of its own.
package struct AliveWriter {
    private let store: BlobStore
    private let host: any ReplicaHost
    private var epoch: UInt64 = 0
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
        if epoch != self.epoch { (self.epoch, counter, progress) = (epoch, 0, nil) }
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
            storeID: store.id.description, epoch: epoch, counter: counter + 1,
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

/// How long a leader has said nothing, by the follower's own clock: the time between looks that found the same, from
/// the end of one to the begin of the next. What lies between looks that are far apart, or around one that failed, does
/// not count: the bucket was away, or this host was.
struct Silence {
    private var seen: AliveDocument?
    private var lookedAt: Int64?
    /// What was between the last two looks: where each request takes long, no look is near the one before.
    private var gap: Int64 = 0
    private(set) var milliseconds: Int64 = 0

    /// Something else shows that somebody leads, or led until now.
    mutating func end() { self = Silence(seen: seen) }

    /// A look failed.
    mutating func interrupt() { lookedAt = nil }

    /// Whether the last look did not fail.
    var isWatched: Bool { lookedAt != nil }

    private init(seen: AliveDocument?) { self.seen = seen }

    init() {}

    /// - Parameters:
    ///   - found: nil: there is none. It is as silent as one that stays the same.
    ///   - begun: when this look began.
    /// - Returns: whether it is new.
    mutating func note(
        _ found: AliveDocument?, begunAt begun: Int64, at now: Int64
    ) -> Bool {
        let gap = lookedAt.map { begun - $0 }
        defer { (lookedAt, self.gap) = (now, gap ?? 0) }
        guard found == seen else {
            self = Silence(seen: found)
            return found != nil
        }
        if let gap, gap <= max(ReplicationLimits.aliveGapMilliseconds, 2 * self.gap) {
            milliseconds += gap
        }
        return false
    }
}
