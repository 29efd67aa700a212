import BlobProtocol
import BlobStore
import ObjectStore
import Synchronization

/// The answer of `GET /metrics`. Labels carry no ids, owners or media types, so they have few values.
struct MetricsDocument: Sendable {
    let source: FigureSource
    let oldestSnapshot: OldestSnapshot
    let replica: ReplicaStatus

    var store: BlobStore { source.store }

    /// Costs two snapshots, a look at every table's root, and some files of `/proc`.
    func compose() throws(StoreError) -> [UInt8] {
        let now = try source.now()
        var text = MetricsText()
        text.add(
            .gauge, "blobd_build_info", "The daemon's version; always 1.",
            [([("version", blobdVersion)], 1)])
        addRequests(now, to: &text)
        text.add(Figure.all, of: now)
        try addStore(to: &text)
        addWrites(to: &text)
        addReplication(to: &text)
        addProcess(to: &text)
        return text.bytes
    }

    private func addRequests(_ now: DaemonFigures, to text: inout MetricsText) {
        let counts = now.requests.counts.sorted {
            ($0.key.operation.rawValue, $0.key.status) < ($1.key.operation.rawValue, $1.key.status)
        }
        text.add(
            .counter, "blobd_requests_total",
            "Answered requests, by operation and status.",
            counts.map { key, count in
                ([("operation", key.operation.rawValue), ("code", "\(key.status)")], count)
            })
        let durations = now.requests.durations.sorted { $0.key.rawValue < $1.key.rawValue }
        text.add(
            "blobd_request_duration_seconds",
            "From the moment a worker learnt of a request until its answer was sent.",
            durations.map { operation, figures in ([("operation", operation.rawValue)], figures) })
        let errors = ErrorCode.allCases.map { code in
            (code, now.counters.sum { $0.count(of: code) })
        }
        text.add(
            .counter, "blobd_errors_total", "Errors, by their code.",
            errors.filter { $1 > 0 }.map { code, count in ([("code", code.rawValue)], count) })
    }

    private func addStore(to text: inout MetricsText) throws(StoreError) {
        let quotas = store.quotas
        text.add(
            .gauge, "blobd_quota_limit",
            "Quotas; 0 where not set.",
            QuotaSetting.allCases.map { ([("setting", $0.rawValue)], quotas.limit(of: $0)) })
        let end = try store.firstEnd()
        let lag = end.map { max(0, Timestamp.now.milliseconds - $0.milliseconds) } ?? 0
        text.add(
            .gauge, "blobd_expiry_lag_seconds",
            "Age of the oldest expired item that has not been removed.", Double(lag) / 1_000)
        let age = oldestSnapshot.ageMilliseconds(in: store)
        text.add(
            .gauge, "blobd_oldest_snapshot_age_seconds",
            "Age of the oldest snapshot, which keeps freed pages from being reused.",
            Double(age) / 1_000)
    }

    private func addWrites(to text: inout MetricsText) {
        let durations = store.writeDurations
        text.add(
            "blobd_commit_duration_seconds", "Commits of data.mdb, with their sync.",
            [([], durations.commit.figures)])
        text.add(
            "blobd_wal_write_duration_seconds", "Writes to the write-ahead log, with their sync.",
            [([], durations.log.figures)])
    }

    private func addProcess(to text: inout MetricsText) {
        let figures = ProcessFigures.now
        text.add(
            .gauge, "process_start_time_seconds", "When the daemon started.",
            Double(source.startedAt.milliseconds) / 1_000)
        text.add(
            .counter, "process_cpu_seconds_total", "Processor time.", figures.processorSeconds)
        text.add(
            .gauge, "process_resident_memory_bytes", "Memory in use.", figures.residentByteCount)
        text.add(.gauge, "process_open_fds", "Open descriptors.", figures.openDescriptorCount)
        text.add(.gauge, "process_max_fds", "The limit of descriptors.", figures.descriptorMax)
    }

    /// Adds nothing for a daemon that belongs to no shard.
    private func addReplication(to text: inout MetricsText) {
        guard let state = store.replicationState else { return }
        let role = replica.role
        let shard = replica.options.shard ?? ""
        text.add(
            .gauge, "blobd_replication_role",
            "The daemon's role in its shard: 1 for the current one.",
            [ReplicaStatus.Role.leader, .follower, .changing].map { one in
                ([("role", one.name), ("shard", shard)], one == role ? 1 : 0)
            })
        text.add(.gauge, "blobd_replication_epoch", "The epoch of the shard.", state.epoch)
        text.add(
            .gauge, "blobd_replication_sequence", "The last batch of changes here.",
            store.lastSequence)
        text.add(
            .gauge, "blobd_replication_shipped_sequence",
            "The last batch of changes in the bucket.", store.shippedSequence)
        text.add(
            .gauge, "blobd_replication_lag_seconds",
            "Leader: age of the oldest change that is not in the bucket. Follower: time since it found something new.",
            Double(replica.lagMilliseconds(asOf: .now)) / 1_000)
        text.add(
            .gauge, "blobd_replication_unreplicated_bytes",
            "Bytes of changes that are not in the bucket.", max(0, store.unshippedByteCount))
        text.add(
            .gauge, "blobd_replication_unreplicated_folders",
            "Folders of acknowledged changes that are not part of the shard.",
            UnreplicatedFolders.count(in: store.directory))
        text.add(
            .gauge, "blobd_replication_damaged_bases",
            "Leader: bases in the bucket that cannot be used.",
            replica.damagedBaseCount.load(ordering: .relaxed))
        addEvictions(replica.fetches, to: &text)
        if let counters = replica.bucketCounters { addBucket(counters, to: &text) }
    }

    private func addEvictions(_ fetches: BlobFetches, to text: inout MetricsText) {
        if let evicted = try? store.evictedBlobs() {
            text.add(
                .gauge, "blobd_evicted_payloads",
                "Payloads whose bytes are in the bucket and not here.", evicted.blobs)
            text.add(.gauge, "blobd_evicted_bytes", "Their bytes, as stored.", evicted.bytes)
        }
        text.add(
            .counter, "blobd_evictions_total", "Payloads that were evicted.",
            store.evictionCountEver)
        text.add(
            .counter, "blobd_bucket_fetches_total",
            "Requests for evicted payloads: fetched from the bucket, or failed.",
            [
                ([("result", "fetched")], fetches.fetchedCount.load(ordering: .relaxed)),
                ([("result", "failed")], fetches.failedCount.load(ordering: .relaxed)),
            ])
        text.add(
            .counter, "blobd_bucket_fetched_bytes_total", "Their bytes, as stored.",
            fetches.fetchedByteCount.load(ordering: .relaxed))
    }

    private func addBucket(_ counters: ObjectStoreCounters, to text: inout MetricsText) {
        func add(_ name: String, _ help: String, _ count: KeyPath<ObjectStoreCounters.Counts, Int>)
        {
            text.add(
                .counter, name, help,
                ObjectOperation.allCases.map {
                    ([("operation", $0.rawValue)], counters[$0][keyPath: count])
                })
        }
        add(
            "blobd_bucket_requests_total",
            "Requests to the bucket, counting each attempt.", \.requests)
        add(
            "blobd_bucket_errors_total", "Requests without an answer, or with an error.", \.errors)
        add("blobd_bucket_sent_bytes_total", "Bytes sent to the bucket.", \.bytesUp)
        add(
            "blobd_bucket_received_bytes_total", "Bytes received from the bucket.", \.bytesDown)
    }
}
