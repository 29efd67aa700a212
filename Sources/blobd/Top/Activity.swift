import BlobClient

struct Activity: Sendable {
    let now: DaemonStatistics
    let seconds: Double
    /// The first reading, unless the daemon was restarted since.
    private let before: DaemonStatistics?
    private(set) var rates: [String: Double] = [:]
    private(set) var durations: [String: Durations] = [:]
    /// The share of fetches answered with bytes; nil without fetches.
    private(set) var hitShare: Double?
    /// Error answers per second, without fetches of missing payloads.
    private(set) var errorRate = 0.0

    /// - Parameter before: nil, or from an earlier run of the daemon: everything since its start counts.
    init(from before: DaemonStatistics?, to now: DaemonStatistics, seconds: Double) {
        self.now = now
        self.seconds = max(seconds, 0.001)
        let before = (before?.requests ?? 0) > (now.requests ?? 0) ? nil : before
        self.before = before
        let bounds = now.bucketNanoseconds ?? []
        for (name, operation) in now.operations ?? [:] {
            let earlier = before?.operations?[name]
            let statuses = operation.statuses.map { status, count in
                (status, count - (earlier?.statuses[status] ?? 0))
            }
            let count = statuses.reduce(0) { $0 + $1.1 }
            rates[name] = Double(count) / self.seconds
            let isLookup = ["fetch", "record"].contains(name)
            let failed = statuses.filter { status, _ in
                status >= "400" && !(isLookup && (status == "404" || status == "410"))
            }
            errorRate += Double(failed.reduce(0) { $0 + $1.1 }) / self.seconds
            if name == "fetch", count > 0 {
                let hits = statuses.filter { $0.0 < "400" }.reduce(0) { $0 + $1.1 }
                hitShare = Double(hits) / Double(count)
            }
            if let buckets = operation.buckets, buckets.count == bounds.count + 1 {
                let grown = buckets.enumerated().map { index, count in
                    count - (earlier?.buckets?[index] ?? 0)
                }
                durations[name] = Durations(bounds: bounds, counts: grown)
            }
        }
    }

    func rate(of name: String) -> Double {
        Double(max(0, (now[name] ?? 0) - (before?[name] ?? 0))) / seconds
    }

    var requestRate: Double { rates.values.reduce(0, +) }
}

extension Activity {
    /// The output of `--json`. Rates and durations are by operation.
    func jsonLine() throws(CommandFailure) -> String {
        func milliseconds(_ share: Double) -> [String: Double] {
            durations.compactMapValues { $0.quantile(share).map { $0 / 1e6 } }
        }
        return try JSONLine.object([
            "seconds": seconds, "requests_per_second": requestRate,
            "publishes_per_second": rate(of: "publishes"),
            "expiries_per_second": rate(of: "expired"), "errors_per_second": errorRate,
            "bytes_sent_per_second": rate(of: "bytes_sent"),
            "bytes_received_per_second": rate(of: "bytes_received"), "hit_rate": hitShare,
            "connections": now.connections, "watchers": now.watchers,
            "notifications": now.notifications, "blobs": now.blobs,
            "file_bytes": now.fileBytes, "allocated_bytes": now.allocatedBytes,
            "live_bytes": now.bytesStored, "rates": rates.filter { $0.value > 0 },
            "p50_ms": milliseconds(0.5), "p99_ms": milliseconds(0.99),
            "slowest": now.slowest ?? [],
        ])
    }
}

struct Durations: Sendable {
    let bounds: [Int64]
    let counts: [Int64]

    /// The duration that `share` of all do not exceed, in nanoseconds, interpolated within its bucket; nil without any.
    /// Beyond the last bound, that bound.
    func quantile(_ share: Double) -> Double? {
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        var missing = share * Double(total)
        for (index, count) in counts.enumerated() where count > 0 {
            guard index < bounds.count else { break }
            if missing <= Double(count) {
                let lower = index > 0 ? Double(bounds[index - 1]) : 0
                return lower + (Double(bounds[index]) - lower) * missing / Double(count)
            }
            missing -= Double(count)
        }
        return bounds.last.map(Double.init)
    }
}

enum ActivityLine {
    private static let columns:
        [(title: String, width: Int, text: @Sendable (Activity) -> String)] = [
            ("fetch/s", 9, { TopScreen.number($0.rates["fetch"] ?? 0) }),
            ("hits", 7, { $0.hitShare.map { "\(TopScreen.number($0 * 100)) %" } ?? "-" }),
            ("p50", 8, { TopScreen.time($0.durations["fetch"]?.quantile(0.5)) }),
            ("p99", 8, { TopScreen.time($0.durations["fetch"]?.quantile(0.99)) }),
            ("publish/s", 10, { TopScreen.number($0.rate(of: "publishes")) }),
            ("p99", 8, { TopScreen.time($0.durations["publish"]?.quantile(0.99)) }),
            ("expire/s", 9, { TopScreen.number($0.rate(of: "expired")) }),
            ("error/s", 8, { TopScreen.number($0.errorRate) }),
            ("conns", 7, { HumanText.count($0.now.connections ?? 0) }),
            ("waiting", 8, { HumanText.count($0.now.watchers ?? 0) }),
            ("on disk", 10, { HumanText.bytes($0.now.allocatedBytes ?? 0) }),
            ("live", 10, { HumanText.bytes($0.now.bytesStored ?? 0) }),
        ]

    static var titles: String { line { $0.title } }

    static func text(_ activity: Activity) -> String { line { $0.text(activity) } }

    private static func line(
        _ text: ((title: String, width: Int, text: @Sendable (Activity) -> String)) -> String
    ) -> String {
        columns.map { column in
            let text = text(column)
            return String(repeating: " ", count: max(1, column.width - text.count)) + text
        }.joined() + "\n"
    }
}
