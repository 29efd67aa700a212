internal import BlobStore

/// What keeps a follower from getting past a place of the log: an object that is damaged or never given, or damage in its
/// own store. Where a base is after it the follower is rebuilt from that, as where a segment is missing. Not before several
/// looks: it may have been an answer that was damaged.
struct Obstacle {
    private let store: BlobStore
    private let host: any ReplicaHost
    /// The segment that comes next, how often in a row it was not reached, and since when.
    private var number: UInt64 = 0
    private var lookCount = 0
    private var since: Int64 = 0
    private var hasSaid = false

    init(_ store: BlobStore, _ host: any ReplicaHost) {
        self.store = store
        self.host = host
    }

    mutating func noteStep() { lookCount = 0 }

    /// What an error means behind a segment: ``ReplicationError/tooOld(position:)`` where the store is to be rebuilt.
    mutating func meaning(
        of error: any Error, after position: LogPosition, on bucket: any Bucket
    ) throws -> any Error {
        guard let kind = Kind(error) else { return error }
        let now = host.uptime
        if number != position.number + 1 || lookCount == 0 {
            if number != position.number + 1 { hasSaid = false }
            (number, lookCount, since) = (position.number + 1, 0, now)
        }
        lookCount += 1
        guard lookCount >= kind.lookCountMin, now - since >= kind.millisecondsMin else {
            return error
        }
        guard let newest = try BaseManifest.newestReadable(from: number, on: bucket) else {
            if !hasSaid { host.log(.error, "\(error): \(kind.advice(store.directory, number))") }
            hasSaid = true
            return error
        }
        // A bucket that was away is back, or it is a payload that is not given: the base has that, too.
        if kind == .notGiven, canReadNext(on: bucket) { return error }
        host.log(
            .warning,
            "\(error): continuing from the base after segment \(newest.position.number)")
        return ReplicationError.tooOld(position: position.number)
    }

    private func canReadNext(on bucket: any Bucket) -> Bool {
        do { _ = try Segment.read(number, on: bucket) } catch { return false }
        return true
    }

    private enum Kind {
        case damaged, notGiven, ownDamage

        init?(_ error: any Error) {
            switch error {
            case ReplicationError.damaged(let name, _)
            where name.hasPrefix(ShardNames.logPrefix) || name.hasPrefix(ShardNames.packPrefix):
                self = .damaged
            case ReplicationError.bucket(_, isLasting: false): self = .notGiven
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
            case .damaged, .notGiven:
                "waiting for a base after segment \(number), which the leader makes when it finds that it cannot read that either"
            case .ownDamage:
                "cannot apply segment \(number). This host is rebuilt from the next base of the leader (--base-interval). To rebuild it now, stop it, empty \(directory) and start it. Check the disk"
            }
        }
    }
}
