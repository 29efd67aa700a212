import BlobProtocol
import BlobStore
import ObjectStore
import Synchronization

/// What `GET /metrics` answers. Labels carry no ids, owners or media types, so that their values are few.
struct MetricsDocument: Sendable {
    let source: FigureSource
    let oldestSnapshot: OldestSnapshot
    let replica: ReplicaStatus

    var store: BlobStore { source.store }

    /// Costs two snapshots, a look at every table's root, and some files of `/proc`.
    func compose() throws(StoreError) -> [UInt8] {
        let now = try source.now()
        var text = MetricsText()
        text.begin("blobd_build_info", .gauge, "The daemon's version; always 1.")
        text.sample("blobd_build_info", ["version": blobdVersion], 1)
        addRequests(now, to: &text)
        text.add(Figure.all, of: now)
        try addStore(to: &text)
        addWrites(to: &text)
        addReplication(to: &text)
        addProcess(to: &text)
        return text.bytes
    }

    private func addRequests(_ now: DaemonFigures, to text: inout MetricsText) {
        let answered = now.requests
        text.begin(
            "blobd_requests_total", .counter,
            "Requests that were answered, by operation and status.")
        let counts = answered.counts.sorted {
            ($0.key.operation.rawValue, $0.key.status) < ($1.key.operation.rawValue, $1.key.status)
        }
        for (key, count) in counts {
            text.sample(
                "blobd_requests_total",
                ["operation": key.operation.rawValue, "code": "\(key.status)"], count)
        }
        text.begin(
            "blobd_request_duration_seconds", .histogram,
            "From the moment a worker learnt of a request until its answer was sent.")
        let durations = answered.durations.sorted { $0.key.rawValue < $1.key.rawValue }
        for (operation, figures) in durations {
            text.histogram(
                "blobd_request_duration_seconds", ["operation": operation.rawValue], figures)
        }
        text.begin(
            "blobd_errors_total", .counter, "Errors that were answered, by the problem's code.")
        for code in ErrorCode.allCases {
            let count = now.counters.sum { $0.count(of: code) }
            if count > 0 { text.sample("blobd_errors_total", ["code": code.rawValue], count) }
        }
    }

    private func addStore(to text: inout MetricsText) throws(StoreError) {
        text.begin(
            "blobd_quota_limit", .gauge,
            "Limits of how much there may be; those that are not set are 0.")
        let quotas = store.quotas
        for setting in QuotaSetting.allCases {
            text.sample(
                "blobd_quota_limit", ["setting": setting.rawValue], quotas.limit(of: setting))
        }
        text.begin(
            "blobd_expiry_lag_seconds", .gauge,
            "How long the oldest thing is over that has not been removed.")
        let end = try store.firstEnd()
        let lag = end.map { max(0, Timestamp.now.milliseconds - $0.milliseconds) } ?? 0
        text.sample("blobd_expiry_lag_seconds", seconds: Double(lag) / 1_000)
        text.begin(
            "blobd_oldest_snapshot_age_seconds", .gauge,
            "How long the oldest snapshot has kept freed pages from being used again.")
        let age = try oldestSnapshot.ageMilliseconds(in: store)
        text.sample("blobd_oldest_snapshot_age_seconds", seconds: Double(age) / 1_000)
    }

    private func addWrites(to text: inout MetricsText) {
        let durations = store.writeDurations
        text.begin(
            "blobd_commit_duration_seconds", .histogram, "Commits of data.mdb, with their sync.")
        text.histogram("blobd_commit_duration_seconds", [:], durations.commit.figures)
        text.begin(
            "blobd_wal_write_duration_seconds", .histogram,
            "Writes to the write-ahead log, with their sync.")
        text.histogram("blobd_wal_write_duration_seconds", [:], durations.log.figures)
    }

    private func addProcess(to text: inout MetricsText) {
        let figures = ProcessFigures.now
        text.begin("process_start_time_seconds", .gauge, "When the daemon started.")
        text.sample(
            "process_start_time_seconds", seconds: Double(source.startedAt.milliseconds) / 1_000)
        text.begin("process_cpu_seconds_total", .counter, "Processor time.")
        text.sample("process_cpu_seconds_total", seconds: figures.processorSeconds)
        text.add(
            "process_resident_memory_bytes", .gauge, "Memory in use.", figures.residentByteCount)
        text.add("process_open_fds", .gauge, "Open descriptors.", figures.openDescriptorCount)
        text.add("process_max_fds", .gauge, "The limit of descriptors.", figures.descriptorMax)
    }
}

extension MetricsDocument {
    /// Nothing of a daemon that belongs to no shard.
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
