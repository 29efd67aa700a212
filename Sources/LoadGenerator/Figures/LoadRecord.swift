/// What is counted while a run goes on.
struct LoadRecord {
    /// Whether answers count yet: warm-up is over.
    var isCounting = false
    /// All answers to fetches and publishes, counted or not.
    private(set) var answerCount = 0
    private(set) var fetches = KindRecord()
    private(set) var publishes = KindRecord()

    /// Adds a whole answer.
    ///
    /// - Parameters:
    ///   - nanoseconds: from when it was wanted to when it was there.
    ///   - byteCount: the body's size, in whichever direction it went.
    mutating func add(_ kind: RequestKind, nanoseconds: Int64, byteCount: Int) {
        answerCount &+= 1
        guard isCounting else { return }
        if kind == .fetch {
            fetches.add(nanoseconds, byteCount)
        } else {
            publishes.add(nanoseconds, byteCount)
        }
    }

    /// Adds the time that a request has waited whose answer will not be waited for: its latency
    /// would have been longer.
    mutating func addUnanswered(_ kind: RequestKind, nanoseconds: Int64) {
        guard isCounting else { return }
        if kind == .fetch {
            fetches.latencies.addAtLeast(nanoseconds)
        } else {
            publishes.latencies.addAtLeast(nanoseconds)
        }
    }

    /// The answers that count.
    var requestCount: Int { fetches.requestCount + publishes.requestCount }

    /// Fetches and publishes together.
    var latencies: LatencyRecord {
        var all = fetches.latencies
        all.add(publishes.latencies)
        return all
    }

    /// The latency that all but one in a hundred have kept below so far, in nanoseconds; of the
    /// fetches where there are any.
    var p99Nanoseconds: UInt64 {
        fetches.requestCount > 0
            ? fetches.latencies.percentile(99) : publishes.latencies.percentile(99)
    }
}

/// The answers to requests of one kind.
struct KindRecord {
    private(set) var requestCount = 0
    private(set) var byteCount = 0
    var latencies = LatencyRecord()

    mutating func add(_ nanoseconds: Int64, _ byteCount: Int) {
        requestCount &+= 1
        self.byteCount &+= byteCount
        latencies.add(nanoseconds)
    }
}

/// Latencies in nanoseconds, to three digits.
struct LatencyRecord {
    /// What is longer counts as this long: an hour.
    static let nanosecondsMax: UInt64 = 3_600_000_000_000

    private var histogram = Histogram(max: LatencyRecord.nanosecondsMax)
    private var sum: UInt64 = 0
    private var least = UInt64.max
    private var most: UInt64 = 0

    mutating func add(_ nanoseconds: Int64) {
        let value = min(UInt64(max(0, nanoseconds)), Self.nanosecondsMax)
        if value < least { least = value }
        addAtLeast(nanoseconds)
    }

    /// Adds a latency that was this long before it ended. It cannot be the smallest.
    mutating func addAtLeast(_ nanoseconds: Int64) {
        let value = min(UInt64(max(0, nanoseconds)), Self.nanosecondsMax)
        histogram.add(value)
        sum &+= value
        if value > most { most = value }
    }

    mutating func add(_ other: LatencyRecord) {
        histogram.add(other.histogram)
        sum &+= other.sum
        least = min(least, other.least)
        most = max(most, other.most)
    }

    /// How many there are.
    var count: UInt64 { histogram.count }
    /// The smallest, exactly; 0 without any.
    var minimum: UInt64 { least == .max ? 0 : least }
    /// The largest, exactly.
    var maximum: UInt64 { most }
    /// The mean, exactly; 0 without any.
    var mean: Double { count == 0 ? 0 : Double(sum) / Double(count) }

    /// The latency that `percent` of all do not exceed; never above the largest; 0 without any.
    func percentile(_ percent: Double) -> UInt64 {
        min(histogram.percentile(percent), most)
    }
}
