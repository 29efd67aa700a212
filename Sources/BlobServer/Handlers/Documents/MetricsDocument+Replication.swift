import BlobStore
import ObjectStore
import Synchronization

extension MetricsDocument {
    /// What the replication does; nothing of a daemon that belongs to no shard.
    func addReplication(to text: inout MetricsText) {
        guard let state = store.replicationState else { return }
        let role = replica.role
        text.begin(
            "blobd_replication_role", .gauge,
            "What the daemon is in its shard: 1 for one of the roles.")
        for one in [ReplicaStatus.Role.leader, .follower, .changing] {
            text.sample(
                "blobd_replication_role",
                ["role": one.name, "shard": replica.options.shard ?? ""], one == role ? 1 : 0)
        }
        text.add(
            "blobd_replication_epoch", .gauge, "The epoch of the shard.", Int(clamping: state.epoch)
        )
        text.add(
            "blobd_replication_sequence", .gauge, "The last batch of changes here.",
            Int(clamping: store.lastSequence))
        text.add(
            "blobd_replication_shipped_sequence", .gauge,
            "The last batch of changes in the bucket.",
            Int(clamping: store.shippedSequence))
        text.begin(
            "blobd_replication_lag_seconds", .gauge,
            "Of a leader, the age of the oldest change that is not in the bucket; of a follower, the time since it found something."
        )
        text.sample(
            "blobd_replication_lag_seconds",
            seconds: Double(replica.lagMilliseconds(asOf: .now)) / 1_000)
        text.add(
            "blobd_replication_unreplicated_bytes", .gauge,
            "Bytes of changes that are not in the bucket.", max(0, store.unshippedByteCount))
        text.add(
            "blobd_replication_damaged_bases", .gauge,
            "Of a leader: bases in the bucket that cannot be used.",
            replica.damagedBaseCount.load(ordering: .relaxed))
        addEvictions(replica.fetches, to: &text)
        guard let requests = replica.bucketCounters else { return }
        addRequests(requests, to: &text)
    }

    private func addEvictions(_ fetches: BlobFetches, to text: inout MetricsText) {
        if let evicted = try? store.evictedBlobs() {
            text.add(
                "blobd_evicted_payloads", .gauge,
                "Payloads whose bytes are in the bucket and not here.", evicted.blobs)
            text.add(
                "blobd_evicted_bytes", .gauge, "Their bytes, as stored.", evicted.bytes)
        }
        text.add(
            "blobd_evictions_total", .counter, "Payloads that were evicted.",
            store.evictionCountEver)
        text.begin(
            "blobd_bucket_fetches_total", .counter,
            "Evicted payloads that somebody asked for: fetched from the bucket, or not.")
        for (result, count) in [
            ("fetched", fetches.fetchedCount.load(ordering: .relaxed)),
            ("failed", fetches.failedCount.load(ordering: .relaxed)),
        ] {
            text.sample("blobd_bucket_fetches_total", ["result": result], count)
        }
        text.add(
            "blobd_bucket_fetched_bytes_total", .counter, "Their bytes, as stored.",
            fetches.fetchedByteCount.load(ordering: .relaxed))
    }

    private func addRequests(_ counters: ObjectStoreCounters, to text: inout MetricsText) {
        let families: [(String, String, KeyPath<ObjectStoreCounters.Counts, Int>)] = [
            (
                "blobd_bucket_requests_total",
                "Requests that were sent to the bucket, each attempt by itself.", \.requests
            ),
            (
                "blobd_bucket_errors_total", "Requests without an answer, or with an error.",
                \.errors
            ),
            ("blobd_bucket_sent_bytes_total", "Bytes that were sent to the bucket.", \.bytesUp),
            (
                "blobd_bucket_received_bytes_total", "Bytes that came from the bucket.",
                \.bytesDown
            ),
        ]
        for (name, help, count) in families {
            text.begin(name, .counter, help)
            for operation in ObjectOperation.allCases {
                text.sample(
                    name, ["operation": operation.rawValue], counters[operation][keyPath: count])
            }
        }
    }
}
