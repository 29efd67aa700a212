import BlobProtocol
import BlobStore

/// What `GET /metrics` answers: the daemon's numbers in Prometheus' text format. Labels carry no ids,
/// owners or media types, so that their values are few.
struct MetricsDocument: Sendable {
    let store: BlobStore
    let counters: DaemonCounters
    let bodyMemory: BodyMemory
    let limits: LiveLimits
    let accessLog: AccessLog?
    let oldestSnapshot: OldestSnapshot
    let replica: ReplicaStatus
    private let startedAt = Timestamp.now

    init(
        store: BlobStore, counters: DaemonCounters, bodyMemory: BodyMemory, limits: LiveLimits,
        accessLog: AccessLog?, oldestSnapshot: OldestSnapshot, replica: ReplicaStatus
    ) {
        self.store = store
        self.counters = counters
        self.bodyMemory = bodyMemory
        self.limits = limits
        self.accessLog = accessLog
        self.oldestSnapshot = oldestSnapshot
        self.replica = replica
    }

    /// The document. Costs two snapshots, a look at every table's root, and some files of `/proc`.
    func compose() throws(StoreError) -> [UInt8] {
        var text = MetricsText()
        text.begin("blobd_build_info", .gauge, "The daemon's version; always 1.")
        text.sample("blobd_build_info", ["version": blobdVersion], 1)
        addRequests(to: &text)
        try addStore(to: &text)
        addWrites(to: &text)
        addReplication(to: &text)
        addConnections(to: &text)
        addProcess(to: &text)
        return text.bytes
    }

    private func addRequests(to text: inout MetricsText) {
        let answered = counters.requests
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
            let count = counters.sum { $0.count(of: code) }
            if count > 0 { text.sample("blobd_errors_total", ["code": code.rawValue], count) }
        }
        text.begin(
            "blobd_changes_total", .counter, "Changes of the store, by kind.")
        for (kind, count) in [
            ("publish", counters.publishes.total), ("delete", counters.deletes.total),
            ("patch", counters.patches.total), ("respond", counters.responses.total),
            ("expire", counters.expired.total),
        ] {
            text.sample("blobd_changes_total", ["kind": kind], count)
        }
    }

    private func addStore(to text: inout MetricsText) throws(StoreError) {
        let held = try store.statistics()
        text.begin("blobd_store_bytes", .gauge, "Bytes of the store, by what they are.")
        for (kind, count) in [
            ("live", held.bytesStored), ("orphaned", held.orphanBytes),
            ("free", held.freeByteCount),
            ("file", held.fileByteCount), ("allocated", store.allocatedByteCount),
            ("referenced", held.bytesReferenced),
        ] {
            text.sample("blobd_store_bytes", ["kind": kind], count)
        }
        text.add(
            "blobd_corrupt_chunks_total", .counter, "Damaged chunks that were found.",
            store.damageCounts.chunks)
        text.add(
            "blobd_quarantined_blobs", .gauge, "Blobs that are damaged and not sent.",
            store.quarantinedBlobs.count)
        text.add("blobd_notifications", .gauge, "Notifications in the store.", held.notifications)
        text.add("blobd_parts", .gauge, "Parts of all notifications.", held.parts)
        text.add("blobd_blobs", .gauge, "Distinct blobs.", held.blobs)
        text.add("blobd_held_blobs", .gauge, "Blobs that are held for a while.", held.heldBlobs)
        text.add("blobd_tombstones", .gauge, "Removals that are remembered.", held.tombstones)
        text.add("blobd_categories", .gauge, "Categories.", held.categories)
        text.begin(
            "blobd_quota_limit", .gauge,
            "Limits of how much there may be; those that are not set are 0.")
        let quotas = store.quotas
        for setting in QuotaSetting.allCases {
            text.sample(
                "blobd_quota_limit", ["setting": setting.rawValue], quotas.limit(of: setting))
        }
        text.add(
            "blobd_disk_free_bytes", .gauge, "Free bytes of the store's file system.",
            store.freeDiskByteCount ?? 0)
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
        text.add(
            "blobd_leases", .gauge, "Blobs that are kept until peers have read them.", held.leases)
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
        text.add(
            "blobd_wal_bytes", .gauge, "Bytes of the write-ahead log that are not committed.",
            store.pendingLogByteCount)
        text.add(
            "blobd_clock_jumps_total", .counter, "Jumps of the wall clock that paused expiry.",
            counters.clockJumps.total)
    }

    private func addConnections(to text: inout MetricsText) {
        let limits = limits.now
        text.add("blobd_connections", .gauge, "Open connections.", counters.connectionCount)
        text.add(
            "blobd_connections_max", .gauge, "The limit --max-connections.",
            limits.connectionCountMax)
        text.add(
            "blobd_draining_connections", .gauge,
            "Closed connections whose peers have not read everything.", counters.drainingCount)
        text.add(
            "blobd_watchers", .gauge, "Waits, event streams and watches.", store.feedWatch.count)
        text.add("blobd_watchers_max", .gauge, "The limit --max-watchers.", limits.watcherCountMax)
        text.add(
            "blobd_refused_peers_total", .counter, "Connections of users who may not connect.",
            counters.refusedPeers.total)
        text.add(
            "blobd_timeouts_total", .counter, "Connections that ended at a time limit.",
            counters.sum { $0.timeouts.total })
        text.add(
            "blobd_unread_ends_total", .counter,
            "Connections that ended because their unread answers took memory that others needed.",
            counters.sum { $0.unreadEnds.total })
        text.add(
            "blobd_sent_bytes_total", .counter, "Bytes that were sent.",
            counters.sum { $0.bytesSent.total })
        text.add(
            "blobd_received_bytes_total", .counter, "Bytes that were received.",
            counters.sum { $0.bytesReceived.total })
        text.add(
            "blobd_body_memory_bytes", .gauge, "Memory of request bodies.",
            bodyMemory.byteCountReserved)
        text.add(
            "blobd_body_memory_max_bytes", .gauge, "The limit --body-memory.",
            limits.bodyMemoryByteCountMax)
        text.add(
            "blobd_body_spools", .gauge, "Request bodies that are spooled to files.",
            bodyMemory.spoolCountTaken)
        text.add(
            "blobd_answer_memory_bytes", .gauge, "Memory of unread answers.",
            counters.sum { $0.answerMemory.total })
        text.add(
            "blobd_answer_memory_max_bytes", .gauge, "The limit --answer-memory.",
            limits.answerMemoryByteCountMax)
        text.add(
            "blobd_access_log_dropped_total", .counter,
            "Lines that the access log could not take.", accessLog?.droppedCount ?? 0)
    }

    /// What every Prometheus client gives.
    private func addProcess(to text: inout MetricsText) {
        let figures = ProcessFigures.now
        text.begin("process_start_time_seconds", .gauge, "When the daemon started.")
        text.sample(
            "process_start_time_seconds", seconds: Double(startedAt.milliseconds) / 1_000)
        text.begin("process_cpu_seconds_total", .counter, "Processor time.")
        text.sample("process_cpu_seconds_total", seconds: figures.processorSeconds)
        text.add(
            "process_resident_memory_bytes", .gauge, "Memory in use.", figures.residentByteCount)
        text.add("process_open_fds", .gauge, "Open descriptors.", figures.openDescriptorCount)
        text.add("process_max_fds", .gauge, "The limit of descriptors.", figures.descriptorMax)
    }
}
