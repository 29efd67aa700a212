/// The result of a run. `blobd bench --json` prints it in snake case.
public struct LoadFigures: Codable, Sendable, Hashable {
    /// The dialect's name.
    public var dialect: String
    /// Connections.
    public var connections: Int
    /// Requests in flight on each.
    public var depth: Int
    /// The size of the payloads in bytes, or `mix`.
    public var payload: String
    /// Distinct payloads.
    public var payloadCount: Int
    /// Their mean size in bytes.
    public var payloadByteCountMean: Double
    /// How many of a hundred requests were to fetch.
    public var readPercent: Int
    /// Which bytes were compared: all the bytes that were, were right.
    public var check: LoadCheck
    /// What the payloads and their order were made from.
    public var seed: UInt64

    /// Seconds that count, as they were measured.
    public var seconds: Double
    /// Answers in these seconds.
    public var requests: Int
    /// Answers a second.
    public var requestsPerSecond: Double
    /// Bytes of bodies a second, fetched and published, in units of 10⁶.
    public var megabytesPerSecond: Double
    /// Of all requests.
    public var latency: LatencyFigures
    /// Of the fetches, when there were any.
    public var fetches: KindFigures?
    /// Of the publishes, when there were any.
    public var publishes: KindFigures?
    /// How a fixed rate was kept; nil in a closed loop.
    public var rate: RateFigures?
    /// What the generator itself cost.
    public var generator: GeneratorFigures
    /// What the server cost; nil when its processor time could not be read.
    public var server: ServerFigures?
}

/// The requests of one kind.
public struct KindFigures: Codable, Sendable, Hashable {
    /// Answers.
    public var requests: Int
    /// Answers a second.
    public var requestsPerSecond: Double
    /// Bytes of bodies a second, in units of 10⁶.
    public var megabytesPerSecond: Double
    /// From sending (at a fixed rate: from when sending was due) to the whole answer.
    public var latency: LatencyFigures
}

/// Latencies in microseconds. Percentiles are exact to three digits, the others to the nanosecond.
public struct LatencyFigures: Codable, Sendable, Hashable {
    /// The shortest.
    public var minMicroseconds: Double
    /// The arithmetic mean.
    public var meanMicroseconds: Double
    /// Half are not above: the median.
    public var p50Microseconds: Double
    /// 90 percent are not above.
    public var p90Microseconds: Double
    /// 99 percent are not above.
    public var p99Microseconds: Double
    /// 99.9 percent are not above.
    public var p999Microseconds: Double
    /// 99.99 percent are not above.
    public var p9999Microseconds: Double
    /// The longest.
    public var maxMicroseconds: Double
}

/// How a fixed rate was kept.
public struct RateFigures: Codable, Sendable, Hashable {
    /// Requests a second that were asked for.
    public var askedPerSecond: Double
    /// Requests a second that were answered.
    public var achievedPerSecond: Double
    /// Whether at most one in a hundred was missing. When it is false, server or generator could
    /// not keep up, and the latencies grow with the length of the run.
    public var isReached: Bool
    /// Requests that were due and had no answer when the run ended; the time they had waited by
    /// then is among the latencies.
    public var unanswered: Int
}

/// The cost of the generator's thread. A share near 1 in a closed loop means that the generator was the limit.
public struct GeneratorFigures: Codable, Sendable, Hashable {
    /// Processor time in the seconds that count.
    public var cpuSeconds: Double
    /// The part of it outside the kernel.
    public var userSeconds: Double
    /// Processor time by elapsed time: 1 is a whole core. In a run of fixed rate it is near 1
    /// always, since the generator watches the clock.
    public var cpuShare: Double
    /// Processor time by answers.
    public var cpuMicrosecondsPerRequest: Double
}

/// The cost of the server's processes.
public struct ServerFigures: Codable, Sendable, Hashable {
    /// Whose time it is.
    public var processes: [Int32]
    /// Processor time of all their threads.
    public var cpuSeconds: Double
    /// Processor time by elapsed time: 1 is a whole core.
    public var cpuShare: Double
    /// Processor time by answers.
    public var cpuMicrosecondsPerRequest: Double
}

extension LoadFigures {
    init(
        _ dialect: any LoadDialect, _ payloads: LoadPayloads, _ options: LoadOptions,
        _ record: LoadRecord, seconds: Double, unanswered: Int, processes: [Int32],
        from before: ProcessorTimes, to after: ProcessorTimes
    ) {
        let requests = record.requestCount
        let bytes = record.fetches.byteCount + record.publishes.byteCount
        self.init(
            dialect: dialect.name, connections: options.connections, depth: options.depth,
            payload: "\(payloads.sizes)", payloadCount: payloads.count,
            payloadByteCountMean: Double(payloads.byteCountTotal) / Double(payloads.count),
            readPercent: options.readPercent, check: options.check, seed: options.seed,
            seconds: seconds, requests: requests, requestsPerSecond: Double(requests) / seconds,
            megabytesPerSecond: Double(bytes) / seconds / 1e6,
            latency: LatencyFigures(record.latencies),
            fetches: KindFigures(record.fetches, seconds),
            publishes: KindFigures(record.publishes, seconds),
            rate: options.rate.map {
                RateFigures(
                    asked: $0, requests: requests, seconds: seconds, unanswered: unanswered)
            },
            generator: GeneratorFigures(before, after, seconds, requests),
            server: ServerFigures(processes, before, after, seconds, requests))
    }
}

extension KindFigures {
    fileprivate init?(_ record: KindRecord, _ seconds: Double) {
        guard record.requestCount > 0 else { return nil }
        self.init(
            requests: record.requestCount,
            requestsPerSecond: Double(record.requestCount) / seconds,
            megabytesPerSecond: Double(record.byteCount) / seconds / 1e6,
            latency: LatencyFigures(record.latencies))
    }
}

extension LatencyFigures {
    init(_ record: LatencyRecord) {
        func microseconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1e3 }
        self.init(
            minMicroseconds: microseconds(record.minimum),
            meanMicroseconds: record.mean.rounded() / 1e3,
            p50Microseconds: microseconds(record.percentile(50)),
            p90Microseconds: microseconds(record.percentile(90)),
            p99Microseconds: microseconds(record.percentile(99)),
            p999Microseconds: microseconds(record.percentile(99.9)),
            p9999Microseconds: microseconds(record.percentile(99.99)),
            maxMicroseconds: microseconds(record.maximum))
    }
}

extension RateFigures {
    /// Whether the rate was reached is a matter of whole requests: one may be on its way.
    init(asked: Double, requests: Int, seconds: Double, unanswered: Int) {
        self.init(
            askedPerSecond: asked, achievedPerSecond: Double(requests) / seconds,
            isReached: Double(requests + 1) >= 0.99 * asked * seconds, unanswered: unanswered)
    }
}

extension GeneratorFigures {
    fileprivate init(
        _ before: ProcessorTimes, _ after: ProcessorTimes, _ seconds: Double, _ requests: Int
    ) {
        let cpu = Double(after.generator - before.generator) / 1e9
        self.init(
            cpuSeconds: cpu,
            userSeconds: Double(after.generatorUser - before.generatorUser) / 1e9,
            cpuShare: cpu / seconds, cpuMicrosecondsPerRequest: cpu * 1e6 / Double(requests))
    }
}

extension ServerFigures {
    fileprivate init?(
        _ processes: [Int32], _ before: ProcessorTimes, _ after: ProcessorTimes,
        _ seconds: Double, _ requests: Int
    ) {
        guard let from = before.server, let to = after.server, to >= from else { return nil }
        let cpu = Double(to - from) / 1e9
        self.init(
            processes: processes, cpuSeconds: cpu, cpuShare: cpu / seconds,
            cpuMicrosecondsPerRequest: cpu * 1e6 / Double(requests))
    }
}
