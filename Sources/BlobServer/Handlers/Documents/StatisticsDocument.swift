import BlobProtocol
import BlobStore

/// What `GET /v1/stats` and `stats` answer: what the store holds, exactly, and what the daemon has
/// done since its start.
struct StatisticsDocument: Sendable {
    let source: FigureSource
    let scrub: ScrubState

    private var store: BlobStore { source.store }
    private var counters: DaemonCounters { source.counters }

    /// The document: the numbers of ``Figure``, and what has more than a number.
    func compose() throws(StoreError) -> [UInt8] {
        let now = try source.now()
        var document = NumbersDocument()
        document.add(Figure.stored, of: now)
        document.add("store_id", store.id.description)
        document.add("version", blobdVersion)
        let uptime = Timestamp.now.milliseconds - source.startedAt.milliseconds
        document.add("uptime_seconds", Int(uptime / 1_000))
        document.add(Figure.served, of: now)
        var errors = NumbersDocument()
        for code in ErrorCode.allCases {
            let count = counters.sum { $0.count(of: code) }
            if count > 0 { errors.add(code.rawValue, count) }
        }
        document.add("errors", errors)
        document.add("quotas", quotas())
        document.add("scrub", ScrubDocument(store, scrub).numbers)
        addOperations(now.requests, to: &document)
        addSlowest(to: &document)
        return document.finished()
    }

    /// Those limits of how much there may be that are set.
    private func quotas() -> NumbersDocument {
        let quotas = store.quotas
        var document = NumbersDocument()
        for setting in QuotaSetting.allCases where quotas.limit(of: setting) > 0 {
            // Members are in snake case.
            let name = setting.rawValue.split(separator: "-").joined(separator: "_")
            document.add(name, quotas.limit(of: setting))
        }
        if quotas.freeDiskByteCountMin > 0, let free = store.freeDiskByteCount {
            document.add("free_disk", free)
        }
        return document
    }

    /// Answers of each operation: by status, and how long they took.
    private func addOperations(_ answered: RequestFigures, to document: inout NumbersDocument) {
        var operations = NumbersDocument()
        for operation in Operation.allCases {
            let counts = answered.counts.filter { $0.key.operation == operation }
            guard !counts.isEmpty else { continue }
            var entry = NumbersDocument()
            var statuses = NumbersDocument()
            for (key, count) in counts.sorted(by: { $0.key.status < $1.key.status }) {
                statuses.add("\(key.status)", count)
            }
            entry.add("statuses", statuses)
            if let durations = answered.durations[operation] {
                entry.add("nanoseconds", durations.nanoseconds)
                entry.add("buckets", durations.counts)
            }
            operations.add(operation.rawValue, entry)
        }
        document.add("operations", operations)
        document.add("bucket_nanoseconds", DurationHistogram.bounds.map { Int($0) })
    }

    /// The slowest requests of the last minute.
    private func addSlowest(to document: inout NumbersDocument) {
        let latest = counters.workers.flatMap { $0.slowest.latest(asOf: .now) }
            .sorted { $0.nanoseconds > $1.nanoseconds }
        let objects = latest.prefix(SlowestRequests.countMax).map { slow in
            var object = NumbersDocument()
            object.add("operation", slow.operation.rawValue)
            object.add("status", Int(slow.status))
            object.add("nanoseconds", Int(slow.nanoseconds))
            object.add("target", slow.target)
            object.add("at_ms", Int(slow.at.milliseconds))
            return object
        }
        document.add("slowest", objects)
    }
}
