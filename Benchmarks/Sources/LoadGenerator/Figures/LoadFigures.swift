/// The result of a run. `Benchmarks/load --json` prints it in snake case.
public struct LoadFigures: Codable, Sendable, Hashable {
    /// The dialect's name.
    public var dialect: String
    /// Connections.
    public var connections: Int
    /// Requests in flight on each connection.
    public var depth: Int
    /// The size of the payloads in bytes, or `mix`.
    public var payload: String
    /// Distinct payloads.
    public var payloadCount: Int
    /// Their mean size in bytes.
    public var payloadByteCountMean: Double
    /// The percentage of fetches among the requests; of pairs, 50.
    public var readPercent: Int
    /// Which bytes were compared. All compared bytes were right.
    public var check: LoadCheck
    /// The seed of the payloads and their order.
    public var seed: UInt64

    /// The measured seconds.
    public var seconds: Double
    /// Answers in the measured seconds.
    public var requests: Int
    /// Answers per second.
    public var requestsPerSecond: Double
    /// Bytes of bodies per second, fetched and published, in units of 10⁶.
    public var megabytesPerSecond: Double
    /// The latency of all requests.
    public var latency: LatencyFigures
    /// The fetches, if there were any.
    public var fetches: KindFigures?
    /// The publishes, if there were any.
    public var publishes: KindFigures?
    /// How long after its publish was sent each watcher learned of it, if there were any.
    public var events: KindFigures?
    /// How well a fixed rate was kept; nil in a closed loop.
    public var rate: RateFigures?
    /// The cost of the generator itself.
    public var generator: GeneratorFigures
    /// The cost of the server; nil if its processor time could not be read.
    public var server: ServerFigures?
}

/// The requests of one kind.
public struct KindFigures: Codable, Sendable, Hashable {
    /// Answers.
    public var requests: Int
    /// Answers per second.
    public var requestsPerSecond: Double
    /// Bytes of bodies per second, in units of 10⁶.
    public var megabytesPerSecond: Double
    /// From sending (at a fixed rate: from when sending was due) to the complete answer.
    public var latency: LatencyFigures
}

/// Latencies in microseconds. Percentiles have three exact digits; the others are exact to the nanosecond.
public struct LatencyFigures: Codable, Sendable, Hashable {
    /// The shortest.
    public var minMicroseconds: Double
    /// The arithmetic mean.
    public var meanMicroseconds: Double
    /// The median.
    public var p50Microseconds: Double
    /// The 90th percentile.
    public var p90Microseconds: Double
    /// The 99th percentile.
    public var p99Microseconds: Double
    /// The 99.9th percentile.
    public var p999Microseconds: Double
    /// The 99.99th percentile.
    public var p9999Microseconds: Double
    /// The longest.
    public var maxMicroseconds: Double
}

/// How well a fixed rate was kept.
public struct RateFigures: Codable, Sendable, Hashable {
    /// Requests per second that were due.
    public var askedPerSecond: Double
    /// Requests per second that were answered.
    public var achievedPerSecond: Double
    /// Whether at most one in a hundred was missing. If false, server or generator could not keep up, and latencies
    /// grow with the length of the run.
    public var isReached: Bool
    /// Requests that were due but had no answer when the run ended. Their waiting time until then is included in the
    /// latencies.
    public var unanswered: Int
}

/// The cost of the generator's thread. A share near 1 in a closed loop means that the generator was the limit.
public struct GeneratorFigures: Codable, Sendable, Hashable {
    /// Processor time in the measured seconds.
    public var cpuSeconds: Double
    /// The part of it spent outside the kernel.
    public var userSeconds: Double
    /// Processor time divided by elapsed time: 1 is a whole core. Always near 1 at a fixed rate, since the generator
    /// then polls the clock.
    public var cpuShare: Double
    /// Processor time divided by answers.
    public var cpuMicrosecondsPerRequest: Double
}

/// The cost of the server's processes.
public struct ServerFigures: Codable, Sendable, Hashable {
    /// The processes whose time was measured.
    public var processes: [Int32]
    /// Processor time of all their threads.
    public var cpuSeconds: Double
    /// Processor time divided by elapsed time: 1 is a whole core.
    public var cpuShare: Double
    /// Processor time divided by answers.
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
            readPercent: options.pairs ? 50 : options.watchers > 0 ? 0 : options.readPercent,
            check: options.check, seed: options.seed,
            seconds: seconds, requests: requests, requestsPerSecond: Double(requests) / seconds,
            megabytesPerSecond: Double(bytes) / seconds / 1e6,
            latency: LatencyFigures(record.latencies),
            fetches: KindFigures(record.fetches, seconds),
            publishes: KindFigures(record.publishes, seconds),
            events: KindFigures(record.events, seconds),
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
    /// The rate is compared in whole requests, because one may be in flight.
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
