internal import CLoad

/// A run of the load generator: its connections, all in the calling thread, send requests and check answers.
///
/// ```swift
/// let payloads = try LoadPayloads(.fixed(1_024), seed: 1)
/// var options = LoadOptions(socketPath: "blobd.sock")
/// options.connections = 16
/// let run = try LoadRun(BinaryDialect(), payloads, options)
/// try run.store()
/// let figures = try run.measure()
/// ```
public struct LoadRun: Sendable {
    private let dialect: any LoadDialect
    private let payloads: LoadPayloads
    private let options: LoadOptions

    /// Creates a run. Throws a failure if an option is out of bounds.
    public init(
        _ dialect: any LoadDialect, _ payloads: LoadPayloads, _ options: LoadOptions
    ) throws(LoadFailure) {
        try options.validate()
        self.dialect = dialect
        self.payloads = payloads
        self.options = options
    }

    /// The progress of a run, reported twice a second. The percentile costs up to a millisecond: read it only to show
    /// it.
    public struct Progress: Sendable {
        /// Whether the warm-up is over.
        public var isCounting: Bool
        /// Seconds since the start of warm-up, or of storing.
        public var seconds: Double
        /// Answers measured so far; while storing, the number of stored payloads.
        public var requests: Int
        /// These divided by the measured seconds so far; 0 before.
        public var requestsPerSecond: Double
        /// The 99th percentile of latency so far, of fetches if there are any, in microseconds.
        public var p99Microseconds: Double
    }

    /// Stores every payload under its id, so that it can be fetched. Existing payloads are replaced.
    ///
    /// Uses up to 16 connections, with one request in flight on each.
    ///
    /// - Throws: also if no answer arrives for a minute.
    public func store(
        progress: ((Progress) -> Void)? = nil
    ) throws(LoadFailure) {
        let plan = RequestPlan(
            payloadCount: payloads.count, purpose: .storing, readPercent: 0, seed: options.seed,
            runStamp: 0)
        try publishAll(
            plan, count: payloads.count, for: .storing, connections: min(payloads.count, 16),
            depth: 1, progress: progress)
    }

    /// Publishes `times` times to every id that ``measure(progress:)`` publishes to, each time with a different body.
    ///
    /// - Throws: also if no answer arrives for a minute.
    public func publish(
        times: Int, progress: ((Progress) -> Void)? = nil
    ) throws(LoadFailure) {
        let count = payloads.count * max(times, 0)
        guard count > 0 else { return }
        let plan = RequestPlan(
            payloadCount: payloads.count, purpose: .measuring, readPercent: 0,
            seed: options.seed, runStamp: .random(in: 1...(.max)), order: options.publishOrder,
            publishCountMax: count)
        try publishAll(
            plan, count: count, for: .measuring,
            connections: min(count, options.connections), depth: options.depth,
            progress: progress)
    }

    private func publishAll(
        _ plan: RequestPlan, count: Int, for purpose: Workload.Purpose, connections: Int,
        depth: Int, progress: ((Progress) -> Void)?
    ) throws(LoadFailure) {
        try prepareThread()
        let workload = try Workload(
            dialect, payloads, for: purpose, fetches: false, hasNewIDs: hasNewIDs, owner: owner)
        let begin = Engine.now()
        var engine = try Engine(
            workload, plan, path: options.socketPath, connections: connections, depth: depth,
            check: options.check)
        engine.beginCounting()
        try engine.start()
        var now = begin
        var pace = Pace(progress)
        var lastAnswer = begin
        while engine.record.answerCount < count {
            let before = engine.record.answerCount
            now = try engine.run(until: now + 50_000_000, now: now)
            try checkStopped()
            if engine.record.answerCount > before { lastAnswer = now }
            guard now - lastAnswer < LoadLimits.storeNanosecondsWithoutAnswerMax else {
                throw LoadFailure(.server, "timeout: no answer to a publish for a minute")
            }
            pace.report(now, begin: begin, counted: begin, engine.record)
        }
    }

    /// Measures for the time given by the options, and checks every answer.
    ///
    /// The payloads must be stored (``store(progress:)``), except for pairs. Publishes go to other ids, each with a new
    /// body.
    ///
    /// - Parameter progress: called in the loop, so it must be fast.
    /// - Throws: for the first wrong answer, and if there was no answer.
    public func measure(
        progress: ((Progress) -> Void)? = nil
    ) throws(LoadFailure) -> LoadFigures {
        try prepareThread()
        let begin = Engine.now()
        let onlyPublishes = options.pairs || options.watchers > 0
        let plan = RequestPlan(
            payloadCount: payloads.count, purpose: .measuring,
            readPercent: onlyPublishes ? 0 : options.readPercent, seed: options.seed,
            runStamp: .random(in: 1...(.max)), order: options.publishOrder,
            schedule: options.rate.map { RateSchedule(rate: $0, start: begin) })
        guard options.watchers == 0 else {
            var engine = try EventEngine(
                dialect, payloads, plan, path: options.socketPath, watchers: options.watchers)
            return try measure(&engine, begin: begin, progress)
        }
        let workload = try Workload(
            dialect, payloads, for: .measuring, fetches: options.pairs || options.readPercent > 0,
            publishes: options.pairs || options.readPercent < 100, isPairs: options.pairs,
            hasNewIDs: hasNewIDs, owner: owner)
        var engine = try Engine(
            workload, plan, path: options.socketPath, connections: options.connections,
            depth: options.depth, check: options.check)
        return try measure(&engine, begin: begin, progress)
    }

    private var hasNewIDs: Bool { options.pairs || options.publishOrder == .new }

    private var owner: ((Int) -> String)? { options.hasOwners ? { "bench-user-\($0)" } : nil }

    private func measure<Some: LoadEngine & ~Copyable>(
        _ engine: inout Some, begin: Int64, _ progress: ((Progress) -> Void)?
    ) throws(LoadFailure) -> LoadFigures {
        let counted = begin + Int64(options.warmUpSeconds * 1e9)
        let end = counted + Int64(options.seconds * 1e9)
        let processes =
            options.serverProcesses.isEmpty
            ? engine.peerProcess.map { [$0] } ?? [] : options.serverProcesses
        try engine.start()
        var now = begin
        var pace = Pace(progress)
        while now < counted {
            now = try engine.run(until: counted, now: now)
            try checkStopped()
            pace.report(now, begin: begin, counted: nil, engine.record)
        }
        engine.beginCounting()
        let before = ProcessorTimes.now(of: processes)
        let first = Engine.now()
        while now < end {
            now = try engine.run(until: end, now: now)
            try checkStopped()
            pace.report(now, begin: begin, counted: first, engine.record)
        }
        let after = ProcessorTimes.now(of: processes)
        let seconds = Double(now - first) / 1e9
        guard engine.record.requestCount > 0 else {
            throw LoadFailure(
                .server,
                "no answer within \(options.seconds) seconds; no figures")
        }
        let unanswered = options.rate == nil ? 0 : engine.countUnanswered(at: now)
        return LoadFigures(
            dialect, payloads, options, engine.record, seconds: seconds, unanswered: unanswered,
            processes: processes, from: before, to: after)
    }

    private func checkStopped() throws(LoadFailure) {
        if options.isStopped?() == true { throw LoadFailure(.stopped, "stopped") }
    }

    private func prepareThread() throws(LoadFailure) {
        cload_exact_timers()
        cload_raise_descriptor_limit()
        if let core = options.core, cload_pin_thread(Int32(core)) != 0 {
            throw LoadFailure(.options, "core \(core) does not exist")
        }
    }
}

private struct Pace {
    private let progress: ((LoadRun.Progress) -> Void)?
    private var next: Int64 = 0

    init(_ progress: ((LoadRun.Progress) -> Void)?) { self.progress = progress }

    mutating func report(_ now: Int64, begin: Int64, counted: Int64?, _ record: LoadRecord) {
        guard let progress, now >= next else { return }
        next = now + 500_000_000
        let elapsed = counted.map { Double(now - $0) / 1e9 } ?? 0
        progress(
            LoadRun.Progress(
                isCounting: counted != nil, seconds: Double(now - begin) / 1e9,
                requests: record.requestCount,
                requestsPerSecond: elapsed > 0 ? Double(record.requestCount) / elapsed : 0,
                p99Microseconds: Double(record.p99Nanoseconds) / 1e3))
    }
}
