import BlobProtocol
import BlobStore
import Bytes

/// The answer of `GET /v1/stats`: the numbers of ``Figure``, and data that is more than a number.
struct StatisticsDocument: Sendable {
    let source: FigureSource
    let scrub: ScrubState

    private var store: BlobStore { source.store }
    private var counters: DaemonCounters { source.counters }

    func compose() throws(StoreError) -> [UInt8] {
        let now = try source.now()
        var document: [UInt8] = []
        document.object {
            now.add(Figure.stored, to: &$0)
            $0.add("store_id", store.id.description)
            $0.add("version", blobdVersion)
            let uptime = Timestamp.now.milliseconds - source.startedAt.milliseconds
            $0.add("uptime_seconds", Int(uptime / 1_000))
            now.add(Figure.served, to: &$0)
            $0.begin("errors")
            $0.object {
                for code in ErrorCode.allCases {
                    let count = counters.sum { $0.count(of: code) }
                    if count > 0 { $0.add(code.rawValue, count) }
                }
            }
            $0.begin("quotas")
            $0.object(addQuotas)
            $0.begin("scrub")
            $0.object(ScrubDocument(store: store, state: scrub).addNumbers)
            $0.begin("operations")
            $0.object { addOperations(now.requests, to: &$0) }
            $0.add("bucket_nanoseconds", DurationHistogram.bounds.map { Int($0) })
            addSlowest(to: &$0)
        }
        return document
    }

    private func addQuotas(to out: inout [UInt8]) {
        let quotas = store.quotas
        for setting in QuotaSetting.allCases where quotas.limit(of: setting) > 0 {
            // Members are in snake case.
            let name = setting.rawValue.split(separator: "-").joined(separator: "_")
            out.add(name, quotas.limit(of: setting))
        }
        if quotas.freeDiskByteCountMin > 0, let free = store.freeDiskByteCount {
            out.add("free_disk", free)
        }
    }

    private func addOperations(_ answered: RequestFigures, to out: inout [UInt8]) {
        for operation in Operation.allCases {
            let counts = answered.counts.filter { $0.key.operation == operation }
            guard !counts.isEmpty else { continue }
            out.begin(operation.rawValue)
            out.object {
                $0.begin("statuses")
                $0.object {
                    for (key, count) in counts.sorted(by: { $0.key.status < $1.key.status }) {
                        $0.add("\(key.status)", count)
                    }
                }
                guard let durations = answered.durations[operation] else { return }
                $0.add("nanoseconds", durations.nanoseconds)
                $0.add("buckets", durations.counts)
            }
        }
    }

    private func addSlowest(to out: inout [UInt8]) {
        let latest = counters.workers.flatMap { $0.slowest.latest(asOf: .now) }
            .sorted { $0.nanoseconds > $1.nanoseconds }
        out.add("slowest", latest.prefix(SlowestRequests.countMax)) { slow, out in
            out.object {
                $0.add("operation", slow.operation.rawValue)
                $0.add("status", Int(slow.status))
                $0.add("nanoseconds", Int(slow.nanoseconds))
                $0.add("target", slow.target)
                $0.add("at_ms", Int(slow.at.milliseconds))
            }
        }
    }
}

extension DaemonFigures {
    fileprivate func add(_ figures: [Figure], to out: inout [UInt8]) {
        for figure in figures {
            if let name = figure.name { out.add(name, figure.read(self)) }
        }
    }
}

/// The source of the numbers of ``Figure``.
struct FigureSource: Sendable {
    let store: BlobStore
    let counters: DaemonCounters
    private let bodyMemory: BodyMemory
    private let limits: LiveLimits
    private let accessLog: AccessLog?
    let startedAt = Timestamp.now
    /// The store's commit count at the start, since it continues across runs.
    private let commitCountBefore: UInt64

    init(
        store: BlobStore, counters: DaemonCounters, bodyMemory: BodyMemory, limits: LiveLimits,
        accessLog: AccessLog?
    ) {
        self.store = store
        self.counters = counters
        self.bodyMemory = bodyMemory
        self.limits = limits
        self.accessLog = accessLog
        commitCountBefore = store.pendingCounts.commitCount
    }

    /// The current numbers. Costs a snapshot and a look at every table's root.
    func now() throws(StoreError) -> DaemonFigures {
        DaemonFigures(
            store: store, held: try store.statistics(), counters: counters, limits: limits.now,
            commitCount: Int(clamping: store.pendingCounts.commitCount &- commitCountBefore),
            bodyMemoryByteCount: bodyMemory.byteCountReserved,
            bodySpoolCount: bodyMemory.spoolCountTaken,
            droppedLineCount: accessLog?.droppedCount ?? 0,
            droppedMessageCount: LogOutput.droppedCount, requests: counters.requests)
    }
}
