import BlobProtocol
import BlobStore

/// What `GET /metrics` answers: the daemon's numbers in Prometheus' text format. Labels carry no ids,
/// owners or media types, so that their values are few.
struct MetricsDocument: Sendable {
    let source: FigureSource
    let oldestSnapshot: OldestSnapshot
    let replica: ReplicaStatus

    var store: BlobStore { source.store }

    /// The document: the numbers of ``Figure``, and what has more than a number. Costs two snapshots, a look at every
    /// table's root, and some files of `/proc`.
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

    /// What every Prometheus client gives.
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
