package import BlobStore

/// Says that a leader is alive, beside the thread that ships: also while that uploads a long payload. A step every few
/// seconds, on a thread and a connection of its own.
package struct AliveWriter {
    private let store: BlobStore
    private let host: any ReplicaHost
    private var epoch: UInt64 = 0
    private var counter: UInt64 = 0
    private var failingCount = 0

    package init(_ store: BlobStore, _ host: any ReplicaHost) {
        self.store = store
        self.host = host
    }

    /// Overwrites `alive/…`, where this host leads. One request.
    ///
    /// - Returns: milliseconds until the next step.
    package mutating func step(on bucket: any Bucket) throws(ReplicationError) -> Int {
        guard let epoch = host.aliveEpoch else { return ReplicationLimits.aliveLookMilliseconds }
        if epoch != self.epoch { (self.epoch, counter, failingCount) = (epoch, 0, 0) }
        // A leader that reaches the bucket here and ships nothing is none. Beats that do not get there do not count:
        // when the bucket comes back, this is back before the first segment is.
        failingCount = host.isFailing ? failingCount + 1 : 0
        guard failingCount <= ReplicationLimits.failingBeatCountMax else {
            return ReplicationLimits.beatMilliseconds
        }
        let document = AliveDocument(
            storeID: store.id.description, epoch: epoch, counter: counter + 1,
            segment: store.replicationState?.position.number ?? 0, time: host.now)
        do throws(ReplicationError) {
            try bucket.put(ShardNames.alive(epoch), document.bytes)
        } catch {
            failingCount = 0
            throw error
        }
        counter += 1
        return ReplicationLimits.beatMilliseconds
    }
}

/// How long a leader has said nothing, by the follower's own clock: the time between looks that found the same. What lies
/// between looks that are far apart, or around one that failed, does not count: the bucket was away, or this host was.
struct Silence {
    private var seen: AliveDocument?
    private var lookedAt: Int64?
    private(set) var milliseconds: Int64 = 0

    /// Something else shows that somebody leads, or led until now.
    mutating func end() { self = Silence(seen: seen) }

    /// A look failed.
    mutating func interrupt() { lookedAt = nil }

    private init(seen: AliveDocument?) { self.seen = seen }

    init() {}

    /// - Parameter found: nil: there is none. It is as silent as one that stays the same.
    /// - Returns: whether it is new.
    mutating func note(_ found: AliveDocument?, at now: Int64) -> Bool {
        guard found == seen else {
            self = Silence(seen: found)
            lookedAt = now
            return found != nil
        }
        if let lookedAt, now - lookedAt <= ReplicationLimits.aliveGapMilliseconds {
            milliseconds += now - lookedAt
        }
        lookedAt = now
        return false
    }
}
