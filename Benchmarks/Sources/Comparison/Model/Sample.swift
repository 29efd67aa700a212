/// What one server did in one sample of one cell.
public struct Sample: Codable, Sendable {
    /// Who.
    public var server: Server
    /// What was asked.
    public var cell: Cell
    /// Which of its samples, from 0.
    public var number: Int
    /// Answers a second that were whole and right.
    public var requestsPerSecond: Double
    /// Half of the answers took at most this long.
    public var p50Microseconds: Double
    /// 99 of 100 answers took at most this long.
    public var p99Microseconds: Double
    /// Processor time of the server's processes for one answer; nil where it could not be read.
    public var serverMicroseconds: Double?
    /// The share of its core that the load generator was busy, 0…1: near 1, it was the limit.
    public var generatorShare: Double

    /// One sample's figures.
    public init(
        server: Server, cell: Cell, number: Int, requestsPerSecond: Double,
        p50Microseconds: Double, p99Microseconds: Double, serverMicroseconds: Double?,
        generatorShare: Double
    ) {
        self.server = server
        self.cell = cell
        self.number = number
        self.requestsPerSecond = requestsPerSecond
        self.p50Microseconds = p50Microseconds
        self.p99Microseconds = p99Microseconds
        self.serverMicroseconds = serverMicroseconds
        self.generatorShare = generatorShare
    }
}

/// A sample of blobd with a number of workers, on all of the machine's cores.
public struct WorkersSample: Codable, Sendable {
    /// Threads that serve connections.
    public var workers: Int
    /// What it did. ``Sample/generatorShare`` is in cores, and may be more than 1.
    public var sample: Sample

    /// A sample with so many workers.
    public init(workers: Int, sample: Sample) {
        self.workers = workers
        self.sample = sample
    }

    /// Cores that the server kept busy.
    public var serverCores: Double {
        sample.requestsPerSecond * (sample.serverMicroseconds ?? 0) / 1e6
    }
}
