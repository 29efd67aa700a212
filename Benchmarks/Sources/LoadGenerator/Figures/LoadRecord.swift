internal import CLoad

struct LoadRecord {
    var isCounting = false
    private(set) var answerCount = 0
    private(set) var fetches = KindRecord()
    private(set) var publishes = KindRecord()
    private(set) var events = KindRecord()

    mutating func add(_ kind: RequestKind, nanoseconds: Int64, byteCount: Int) {
        answerCount &+= 1
        guard isCounting else { return }
        if kind == .fetch {
            fetches.add(nanoseconds, byteCount)
        } else {
            publishes.add(nanoseconds, byteCount)
        }
    }

    /// Adds the time from a publish to the moment when a watcher learned of it.
    mutating func addEvent(nanoseconds: Int64) {
        if isCounting { events.add(nanoseconds, 0) }
    }

    /// Adds the waiting time of an unanswered request: its latency would have been longer.
    mutating func addUnanswered(_ kind: RequestKind, nanoseconds: Int64) {
        guard isCounting else { return }
        if kind == .fetch {
            fetches.latencies.addAtLeast(nanoseconds)
        } else {
            publishes.latencies.addAtLeast(nanoseconds)
        }
    }

    var requestCount: Int { fetches.requestCount + publishes.requestCount }

    var latencies: LatencyRecord {
        var all = fetches.latencies
        all.add(publishes.latencies)
        return all
    }

    var p99Nanoseconds: UInt64 {
        fetches.requestCount > 0
            ? fetches.latencies.percentile(99) : publishes.latencies.percentile(99)
    }
}

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

/// Latencies in nanoseconds, with three exact digits.
struct LatencyRecord {
    /// Longer latencies count as this long: an hour.
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

    /// Adds a lower bound of a latency. It is not used for the minimum.
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

    var count: UInt64 { histogram.count }
    var minimum: UInt64 { least == .max ? 0 : least }
    var maximum: UInt64 { most }
    var mean: Double { count == 0 ? 0 : Double(sum) / Double(count) }

    func percentile(_ percent: Double) -> UInt64 {
        min(histogram.percentile(percent), most)
    }
}

/// Counts numbers in buckets that are at most a thousandth of the number wide, like HdrHistogram: numbers below 2,048
/// exactly, then 1,024 buckets for each doubling.
///
/// Takes 8 KiB for each doubling. Adding a number costs a shift and an increment.
struct Histogram {
    /// The binary logarithm of the number of buckets per doubling.
    private static let bitCount = 10

    private var counts: [UInt64]
    private(set) var count: UInt64 = 0

    init(max: UInt64) {
        counts = Array(repeating: 0, count: Self.bucket(of: max) + 1)
    }

    mutating func add(_ number: UInt64) {
        counts[Self.bucket(of: number)] &+= 1
        count &+= 1
    }

    mutating func add(_ other: Histogram) {
        for bucket in counts.indices { counts[bucket] &+= other.counts[bucket] }
        count &+= other.count
    }

    /// The number that `percent` of all numbers do not exceed, rounded up to the end of its bucket; 0 if there are
    /// none.
    func percentile(_ percent: Double) -> UInt64 {
        // One step down, so that rounding cannot reach the next bucket.
        let wanted = (percent.nextDown * Double(count) / 100).rounded(.up)
        var sum: UInt64 = 0
        for bucket in counts.indices where counts[bucket] > 0 {
            sum += counts[bucket]
            if Double(sum) >= wanted { return Self.last(in: bucket) }
        }
        return 0
    }

    /// The numbers of a bucket have their first 11 bits in common.
    private static func bucket(of number: UInt64) -> Int {
        let shift = max(0, 53 - number.leadingZeroBitCount)
        return (shift << bitCount) + Int(number >> shift)
    }

    private static func last(in bucket: Int) -> UInt64 {
        let shift = max(0, (bucket >> bitCount) - 1)
        return (UInt64(bucket - (shift << bitCount) + 1) << shift) - 1
    }
}

struct ProcessorTimes {
    var generator: Int64
    var generatorUser: Int64
    /// nil without processes, or if the time of one cannot be read.
    var server: Int64?

    /// The current times, for the calling thread. Costs a system call for each.
    static func now(of processes: [Int32]) -> ProcessorTimes {
        var server: Int64? = processes.isEmpty ? nil : 0
        for process in processes {
            let time = cload_process_time_ns(process)
            server = time < 0 ? nil : server.map { $0 + time }
        }
        return ProcessorTimes(
            generator: cload_thread_time_ns(), generatorUser: cload_thread_user_time_ns(),
            server: server)
    }
}
