import BlobClient

/// What a daemon did between two looks at its counters.
struct Activity: Sendable {
    /// Of the second look.
    let now: DaemonStatistics
    let seconds: Double
    /// Answered requests of each operation, in a second.
    private(set) var rates: [String: Double] = [:]
    /// Durations of each operation.
    private(set) var durations: [String: Durations] = [:]
    /// Fetches that were answered with bytes, of all; nil without any.
    private(set) var hitShare: Double?
    /// Answers with an error, in a second; a fetch of what is missing is none.
    private(set) var errorRate = 0.0
    private(set) var sentRate = 0.0
    private(set) var receivedRate = 0.0
    private(set) var publishRate = 0.0
    private(set) var expiryRate = 0.0
    private(set) var deleteRate = 0.0

    /// - Parameters:
    ///   - before: the first look; of the same run of the daemon, else everything since its start counts.
    ///   - now: the second look.
    ///   - seconds: the time between them.
    init(from before: DaemonStatistics?, to now: DaemonStatistics, seconds: Double) {
        self.now = now
        self.seconds = max(seconds, 0.001)
        var before = before
        if (before?.requests ?? 0) > (now.requests ?? 0) { before = nil }
        func rate(_ counter: KeyPath<DaemonStatistics, Int64?>) -> Double {
            let grown = (now[keyPath: counter] ?? 0) - (before?[keyPath: counter] ?? 0)
            return Double(max(0, grown)) / self.seconds
        }
        sentRate = rate(\.bytesSent)
        receivedRate = rate(\.bytesReceived)
        publishRate = rate(\.publishes)
        expiryRate = rate(\.expired)
        deleteRate = rate(\.deletes)
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

    /// All answered requests, in a second.
    var requestRate: Double { rates.values.reduce(0, +) }
}

/// Durations in buckets.
struct Durations: Sendable {
    let bounds: [Int64]
    let counts: [Int64]

    /// The duration that `share` of all do not exceed, in nanoseconds, put between the bounds of its bucket
    /// in proportion; nil without any. Beyond the last bound it is that.
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
