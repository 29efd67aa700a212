internal import BlobStore

/// What keeps a follower from getting past a place of the log: an object that is damaged or never given, or damage in its
/// own store. A payload is left in the bucket. Of anything else, where a base is after it the follower is rebuilt from that,
/// as where a segment is missing. Not before several looks: it may have been an answer that was damaged.
struct Obstacle {
    private let store: BlobStore
    private let host: any ReplicaHost
    /// The segment that comes next, how often in a row it was not reached, and since when.
    private var number: UInt64 = 0
    private var lookCount = 0
    private var since: Int64 = 0
    private var hasSaid = false
    /// Whether the next segment is applied without the payloads that the bucket does not give.
    private(set) var leavesPayloads = false

    init(_ store: BlobStore, _ host: any ReplicaHost) {
        self.store = store
        self.host = host
    }

    mutating func noteStep() { (lookCount, leavesPayloads) = (0, false) }

    /// What an error means at a place of the log: ``ReplicationError/tooOld(position:)`` where the store is to be rebuilt.
    mutating func meaning(
        of error: any Error, at log: LogFollower, on bucket: any Bucket
    ) throws -> any Error {
        guard let kind = Kind(error) else { return error }
        let (position, now) = (log.position, host.uptime)
        if number != position.number + 1 || lookCount == 0 {
            if number != position.number + 1 { hasSaid = false }
            (number, lookCount, since) = (position.number + 1, 0, now)
        }
        lookCount += 1
        guard lookCount >= kind.lookCountMin, now - since >= kind.millisecondsMin else {
            return error
        }
        switch try part(kind, at: log, on: bucket) {
        case .payload:
            leavesPayloads = true
            return error
        case .other:
            (lookCount, leavesPayloads) = (0, false)
            return error
        case .segment: break
        }
        guard let newest = try BaseManifest.newestReadable(from: number, on: bucket) else {
            if !hasSaid { host.log(.error, "\(error): \(kind.advice(store.directory, number))") }
            hasSaid = true
            return error
        }
        host.log(
            .warning,
            "\(error): continuing from the base after segment \(newest.position.number)")
        return ReplicationError.tooOld(position: position.number)
    }

    private enum Part { case segment, payload, other }

    /// What it is that the follower does not get. A payload also where a bucket that was away is back: then it gets all.
    private func part(
        _ kind: Kind, at log: LogFollower, on bucket: any Bucket
    ) throws(ReplicationError) -> Part {
        switch kind {
        case .damaged, .ownDamage: return .segment
        case .payload, .notGiven: break
        }
        // A bucket that is away says nothing of its objects.
        _ = try StoreDocument.read(on: bucket)
        guard kind == .notGiven else { return .payload }
        // A copy: nothing is read for the follower.
        var copy = log
        do throws(ReplicationError) {
            return try copy.peek(on: bucket, looksForBase: true) == nil ? .other : .payload
        } catch {
            guard case .bucket = error else { throw error }
            return .segment
        }
    }

    private enum Kind {
        case damaged, notGiven, payload, ownDamage

        init?(_ error: any Error) {
            switch error {
            case ReplicationError.damaged(let name, _) where name.hasPrefix(ShardNames.logPrefix):
                self = .damaged
            case ReplicationError.damaged(let name, _) where name.hasPrefix(ShardNames.blobPrefix):
                self = .payload
            // Also what is forbidden: of one object alone, when the bucket gives others.
            case ReplicationError.bucket: self = .notGiven
            case StoreError.corrupt: self = .ownDamage
            default: return nil
            }
        }

        var lookCountMin: Int {
            self == .notGiven
                ? ReplicationLimits.unreadableSegmentLookCount
                : ReplicationLimits.lostSegmentLookCount
        }

        var millisecondsMin: Int64 {
            self == .notGiven
                ? ReplicationLimits.unreadableSegmentMilliseconds
                : ReplicationLimits.lostSegmentMilliseconds
        }

        func advice(_ directory: String, _ number: UInt64) -> String {
            switch self {
            case .damaged, .notGiven, .payload:
                "waiting for a base after segment \(number), which the leader makes when it finds that it cannot read that either"
            case .ownDamage:
                "cannot apply segment \(number). This host is rebuilt from the next base of the leader (--base-interval). To rebuild it now, stop it, empty \(directory) and start it. Check the disk"
            }
        }
    }
}
