import LoadGenerator

/// What is measured, and for how long.
struct Plan {
    /// Samples of each server in each cell of the fetches, and how long each counts.
    var sampleCount: Int
    var seconds: Double
    var warmUpSeconds: Double
    /// How often all servers are started and filled again during the fetches: where their data happens
    /// to lie in memory matters as much as what they do with it.
    var starts: Int
    var sizes: [Int]
    var loads: [Load]
    var servers: [Server]
    var generatorCore: Int

    /// Of runs that each start a daemon there are fewer samples, and longer ones.
    var longSampleCount: Int { min(sampleCount, max(5, sampleCount / 6)) }
    var longSeconds: Double { seconds * Double(sampleCount) / Double(longSampleCount) }

    /// What a sample takes, and one of the longer ones, with what is around it.
    var sampleSeconds: Double { warmUpSeconds + seconds + 0.05 }
    var longSampleSeconds: Double { sampleSeconds + longSeconds - seconds }

    /// For the report.
    func method(serverCores: [Int]) throws -> Method {
        Method(
            sampleCount: sampleCount, seconds: seconds, warmUpSeconds: warmUpSeconds,
            starts: starts, longSampleCount: longSampleCount, longSeconds: longSeconds,
            serverCores: serverCores, generatorCore: generatorCore,
            payloadCounts: try sizes.reduce(into: [:]) { $0[$1] = try Self.payloads($1).count })
    }

    /// The numbers of the samples of one start.
    func numbers(ofStart start: Int) -> Range<Int> {
        sampleCount * start / starts..<sampleCount * (start + 1) / starts
    }

    /// Workers: a small payload asked for as fast as can be, and a picture.
    static let workerCells = [
        Cell(byteCount: 1 << 10, load: Load(connections: 16, inFlight: 16)),
        Cell(byteCount: 128 << 10, load: Load(connections: 16, inFlight: 1)),
    ]
    /// The size that is read in process.
    static let readByteCount = 1 << 10
    /// Seconds in which a server's answers are compared byte by byte, before the samples.
    static let checkSeconds = 0.5
    /// How often a sample without answers is tried.
    private static let attemptCountMax = 4
    /// The payloads are the same in every run.
    static let seed: UInt64 = 7

    /// The payloads of one size.
    static func payloads(_ byteCount: Int) throws -> LoadPayloads {
        try LoadPayloads(.fixed(byteCount), seed: seed)
    }

    /// The order of one sample: it moves on by one from sample to sample.
    static func rotated<Element>(_ all: [Element], by number: Int) -> [Element] {
        guard !all.isEmpty else { return [] }
        let start = number % all.count
        return Array(all[start...] + all[..<start])
    }

    /// One sample of a contender.
    func sample(
        _ contender: Contender, _ cell: Cell, _ payloads: LoadPayloads, number: Int,
        seconds: Double? = nil, core: Int?
    ) throws -> Sample {
        var options = LoadOptions(socketPath: contender.socketPath)
        options.connections = cell.load.connections
        options.depth = cell.load.inFlight
        // A sample is long enough for everything in flight to arrive twice, which may be 256 MiB.
        let least = Double(cell.byteCount * cell.load.connections * cell.load.inFlight) / 1e9
        options.seconds = max(seconds ?? self.seconds, least)
        options.warmUpSeconds = max(warmUpSeconds, least / 2)
        options.check = .sample
        options.seed = UInt64(number + 1)
        options.serverProcesses = contender.processes
        options.core = core
        let figures = try Self.measure(contender, cell.label, payloads, options)
        return Sample(
            server: contender.server, cell: cell, number: number,
            requestsPerSecond: figures.requestsPerSecond,
            p50Microseconds: figures.latency.p50Microseconds,
            p99Microseconds: figures.latency.p99Microseconds,
            serverMicroseconds: figures.server?.cpuMicrosecondsPerRequest,
            generatorShare: figures.generator.cpuShare)
    }

    /// Compares every byte of what a contender answers; also warms it.
    func check(_ contender: Contender, _ payloads: LoadPayloads, byteCount: Int) throws {
        var options = LoadOptions(socketPath: contender.socketPath)
        options.connections = 16
        options.seconds = Self.checkSeconds
        options.warmUpSeconds = 0
        options.serverProcesses = contender.processes
        options.core = generatorCore
        let cell = Cell(byteCount: byteCount, load: Load(connections: 16, inFlight: 1))
        _ = try Self.measure(contender, cell.label, payloads, options)
    }

    /// What a run of the load generator finds.
    ///
    /// - Parameter label: the cell's, for failures.
    static func measure(
        _ contender: Contender, _ label: String, _ payloads: LoadPayloads, _ options: LoadOptions
    ) throws -> LoadFigures {
        var options = options
        var attempt = 1
        while true {
            do {
                return try LoadRun(contender.dialect, payloads, options).measure()
            } catch {
                // On a machine that is busy otherwise a short sample may pass without an answer; the
                // next try is longer. A wrong byte is never given a second try.
                guard error.reason == .server, attempt < Self.attemptCountMax else {
                    throw CompareFailure("\(contender.server.rawValue), \(label): \(error)")
                }
                attempt += 1
                options.seconds *= 2
                options.warmUpSeconds *= 2
            }
        }
    }
}
