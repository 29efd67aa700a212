internal import BlobStore

/// Watches whether anybody leads, by what leaders say of themselves beside the log.
struct LeaderWatch {
    private let store: BlobStore
    private let host: any ReplicaHost
    private var silence = Silence()
    private var nextLook: Int64 = 0
    /// How far the log is, as the leader said last.
    private(set) var segment: UInt64 = 0
    /// That of the last segment that was applied; 0: none was.
    private var epoch: UInt64 = 0
    /// Who leads the epoch of the last segment that was applied; nil: its leader has not said so yet.
    private(set) var leader: String?

    init(_ store: BlobStore, _ host: any ReplicaHost) {
        self.store = store
        self.host = host
    }

    /// How long nobody is seen to lead.
    var silentMilliseconds: Int64 { silence.milliseconds }

    /// Something else shows that somebody leads, or led until now.
    mutating func end() { silence.end() }

    /// Notes the epoch of what was applied. Where it is another one, who leads it is looked for.
    mutating func note(_ epoch: UInt64) {
        guard epoch != self.epoch else { return }
        (self.epoch, leader, nextLook) = (epoch, nil, 0)
        host.noteLeader("")
    }

    /// The bucket could not be read: that is no silence.
    mutating func interrupt() { silence.interrupt() }

    /// Looks whether the leader is alive, now and then.
    ///
    /// - Parameter applied: the last segment that this store has.
    mutating func look(
        at now: Int64, applied: UInt64, on bucket: any Bucket
    ) throws(ReplicationError) {
        guard now >= nextLook, let epoch = store.replicationState?.epoch else { return }
        let pause = min(
            ReplicationLimits.aliveLookMilliseconds,
            (host.settings.autoPromoteMilliseconds ?? .max) / 4)
        nextLook = now + Int64(min(pause, ReplicationLimits.handoverLookMilliseconds))
        let begun = host.uptime
        do throws(ReplicationError) {
            // What is damaged is none, as the log was there just now: a leader that lives writes it again.
            let found = try AliveDocument.readable(
                epoch, of: store.id.description, on: bucket)
            if let found, found.host != leader {
                leader = found.host
                host.noteLeader(found.host)
            }
            if leader != nil { nextLook = now + Int64(pause) }
            guard silence.note(found, begunAt: begun, at: host.uptime), let found else { return }
            segment = found.segment
            if found.segment <= applied { host.noteMoved(at: now) }
        } catch {
            // A bucket that is away is no silence.
            silence.interrupt()
            throw error
        }
    }

    /// Whether nobody is seen to lead for so long, and now. Whoever takes the lead then looks at the log once more.
    mutating func isSilent(
        for milliseconds: Int64, applied: UInt64, on bucket: any Bucket
    ) throws(ReplicationError) -> Bool {
        guard silence.milliseconds >= milliseconds else { return false }
        nextLook = 0
        try look(at: host.uptime, applied: applied, on: bucket)
        return silence.milliseconds >= milliseconds && silence.isWatched
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
