internal import BlobStore

/// Payloads that the bucket did not give to this follower when their turn came. It went on without them: their bytes stay in
/// the bucket. A request for one asks the bucket again, and so does this now and then.
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
    }

    /// What is not here; nil: nothing.
    var problem: String? {
        guard let first = all.first else { return nil }
        let others = all.count > 1 ? ", and \(all.count - 1) more" : ""
        return
            "lacks payloads that the bucket does not give: \(first.blob.digest)\(others): \(first.error)"
    }

    mutating func note(_ blobs: [UngivenBlob]) {
        guard !blobs.isEmpty else { return }
        for found in blobs {
            host.log(
                .error,
                "The bucket does not give \(found.blob.digest) (\(found.error)): continuing without it. It is fetched when somebody asks for it, or when the bucket gives it"
            )
        }
        all += blobs.prefix(max(0, ReplicationLimits.ungivenPayloadCountMax - all.count))
        pause = ReplicationLimits.jobPauseMilliseconds
        nextLook = host.uptime + pause
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
            host.log(.notice, "The bucket gives \(blob.digest) again")
        } catch {
            if let error = error as? ReplicationError { next.error = error }
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
