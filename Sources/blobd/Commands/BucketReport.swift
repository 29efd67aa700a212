import ObjectStore

/// What `blobd probe --json` prints.
struct BucketReport: Encodable {
    var url: String
    var endpoint: String?
    var region: String?
    var canList = false
    var canWrite = false
    var canRead = false
    var canDelete = false
    var conditionalCreates: Creates?
    var putMilliseconds: Latency?
    var error: String?

    /// The race for names.
    struct Creates: Encodable {
        var names: Int
        var racers: Int
        var oneWinner: Int
        var faulty: Int
        var unanswered: Int
        var faults: [String]

        init(_ report: ProbeReport) {
            names = report.nameCount
            racers = report.racerCount
            oneWinner = report.soundNameCount
            faulty = report.faultyNameCount
            unanswered = report.unknownCount
            faults = report.faults
        }
    }

    /// Latencies in milliseconds, with two decimals.
    struct Latency: Encodable {
        var p50: Double
        var p90: Double
        var p99: Double
        var max: Double

        /// - Parameter microseconds: at least one.
        init(microseconds: [Int]) {
            let sorted = microseconds.sorted()
            func value(_ share: Double) -> Double {
                let index = min(Int(Double(sorted.count) * share), sorted.count - 1)
                return Double(sorted[index] / 10) / 100
            }
            (p50, p90, p99, max) = (value(0.5), value(0.9), value(0.99), value(1))
        }
    }

    var isUsable: Bool { conditionalCreates.map { $0.oneWinner == $0.names } ?? false }

    var verdict: String {
        isUsable ? "The bucket can be replicated to.\n" : "The bucket CANNOT be replicated to.\n"
    }
}
