extension LoadFigures {
    /// The figures of a run.
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
