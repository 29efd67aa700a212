internal import BlobStore

/// Payloads that the bucket did not give to this follower when their turn came. It went on without them: their bytes stay in
/// the bucket. A request for one asks the bucket again, and so does this now and then. Where this host should have all
/// payloads, those that it lacked at the last run are among them.
struct UngivenPayloads {
    private let store: BlobStore
    private let host: any ReplicaHost
    /// Those that are asked for again, the next one first.
    private var all: [UngivenBlob] = []
    private var nextLook: Int64 = 0
    private var pause = ReplicationLimits.jobPauseMilliseconds

    init(_ store: BlobStore, _ host: any ReplicaHost) {
        self.store = store
        self.host = host
        guard host.settings.localByteCountMax == nil else { return }
        // Damage of the store is found by others.
        let lacking = try? store.evictedBlobs(countMax: ReplicationLimits.ungivenPayloadCountMax)
        all = (lacking ?? []).map { UngivenBlob(blob: $0) }
    }

    /// What is not here; nil: nothing.
    var problem: String? {
        guard let first = all.first(where: { $0.error != nil }) ?? all.first else { return nil }
        let others = all.count > 1 ? ", and \(all.count - 1) more" : ""
        guard let error = first.error else {
            return "lacks payloads that it has yet to fetch: \(first.blob.digest)\(others)"
        }
        return
            "lacks payloads that the bucket does not give: \(first.blob.digest)\(others): \(error)"
    }

    /// Why this host takes the lead by force only: whoever leads is the one that mends what the bucket has lost. nil: it
    /// lacks nothing.
    var refusal: String? {
        guard !all.isEmpty else { return nil }
        return
            "this host lacks payloads (\(names)): wait until it has fetched them, publish them again to the leader, or use --force to lead without them"
    }

    /// Says what is lost with the leader before this host, which leads now.
    func noteLead() {
        guard !all.isEmpty else { return }
        host.log(
            .error,
            "Leading without payloads that this host lacks (\(names)): where the bucket does not give them either, they are lost until they are published again"
        )
    }

    private static let namedCountMax = 8

    private var names: String {
        let named = all.prefix(Self.namedCountMax).map { "\($0.blob.digest)" }
        let others = all.count - named.count
        return named.joined(separator: ", ") + (others > 0 ? ", and \(others) more" : "")
    }

    /// - Parameter blobs: those that the store does not have, with their batches, are passed over.
    mutating func note(_ blobs: [UngivenBlob]) {
        let blobs = blobs.filter { found in
            (try? store.isStored(found.blob.digest, number: found.blob.number)) != false
        }
        guard !blobs.isEmpty else { return }
        for found in blobs { say(found) }
        all += blobs.prefix(max(0, ReplicationLimits.ungivenPayloadCountMax - all.count))
        pause = ReplicationLimits.jobPauseMilliseconds
        nextLook = host.uptime + pause
    }

    private func say(_ found: UngivenBlob) {
        guard let error = found.error else { return }
        host.log(
            .error,
            "The bucket does not give \(found.blob.digest) (\(error)): continuing without it. It is fetched when somebody asks for it, or when the bucket gives it"
        )
    }

    /// Asks for one of them again, when it is time.
    mutating func look(on bucket: any Bucket) throws {
        guard var next = all.first, host.uptime >= nextLook else { return }
        all.removeFirst()
        let blob = next.blob
        do {
            // What nothing refers to any more is not needed.
            guard try store.isStored(blob.digest, number: blob.number) else { return }
            let bytes = try LongBlobs.bytes(of: blob, in: store.id, on: bucket)
            let outcome = try host.write { (store) throws(StoreError) in
                try store.putBack(blob, bytes)
            }
            pause = ReplicationLimits.jobPauseMilliseconds
            guard outcome != .later else { return all.append(next) }
            if outcome == .stored { host.log(.notice, "The bucket gives \(blob.digest) again") }
        } catch {
            if let error = error as? ReplicationError {
                let isNew = next.error == nil
                next.error = error
                if isNew { say(next) }
            }
            all.append(next)
            pause = min(2 * pause, ReplicationLimits.jobPauseMillisecondsMax)
            nextLook = host.uptime + pause
            switch error {
            case let error as ReplicationError where error.isOfOneObject: break
            case StoreError.full: break
            default: throw error
            }
        }
    }
}
