/// Everything one comparison found: `report.json`.
public struct Report: Codable, Sendable {
    /// Where and when.
    public var machine: MachineFacts
    /// Who took part.
    public var servers: [ServerFacts]
    /// How it was measured.
    public var method: Method
    /// Every sample of every fetch.
    public var fetches: [Sample]
    /// Durable publishes.
    public var publishes: PublishReport
    /// Every sample of reads in process.
    public var reads: [ReadSample]
    /// Instructions for one read, counted by valgrind; empty where it is not installed.
    public var instructionsPerRead: [Reader: Double]
    /// Bytes in a payload that is read in process.
    public var readByteCount: Int
    /// blobd with one worker and with two.
    public var workers: [WorkersSample]

    /// A report without figures yet.
    public init(machine: MachineFacts, servers: [ServerFacts], method: Method) {
        self.machine = machine
        self.servers = servers
        self.method = method
        fetches = []
        publishes = PublishReport()
        reads = []
        instructionsPerRead = [:]
        readByteCount = 0
        workers = []
    }
}

extension Report {
    /// Whether there is anything but publishes, which have rounds instead of samples.
    var hasSamples: Bool { !(fetches.isEmpty && reads.isEmpty && workers.isEmpty) }

    /// Who took part, in whichever part.
    var everyone: [ServerFacts] {
        servers + publishes.servers.filter { one in !servers.contains { $0.server == one.server } }
    }
}

/// What the figures depend on.
public struct MachineFacts: Codable, Sendable {
    /// When it began, as RFC 3339.
    public var date: String
    /// The processor's name.
    public var processor: String
    /// Cores this process may use.
    public var cores: Int
    /// Memory, in bytes.
    public var memoryByteCount: Int
    /// The kernel's name and version.
    public var kernel: String
    /// The distribution.
    public var system: String
    /// The file system of the servers' data.
    public var fileSystem: String
    /// One `fdatasync` after a write of 4 KiB there, in microseconds: the median of many.
    public var syncMicroseconds: Double
    /// The commit of blobd, with `+` when its files were changed since.
    public var commit: String
    /// Runnable tasks when it began, as the kernel averages them over a minute.
    public var loadAverage: Double

    /// The facts.
    public init(
        date: String, processor: String, cores: Int, memoryByteCount: Int, kernel: String,
        system: String, fileSystem: String, syncMicroseconds: Double, commit: String,
        loadAverage: Double
    ) {
        self.date = date
        self.processor = processor
        self.cores = cores
        self.memoryByteCount = memoryByteCount
        self.kernel = kernel
        self.system = system
        self.fileSystem = fileSystem
        self.syncMicroseconds = syncMicroseconds
        self.commit = commit
        self.loadAverage = loadAverage
    }
}

/// A server that took part.
public struct ServerFacts: Codable, Sendable {
    /// Which.
    public var server: Server
    /// Its version, in its own words.
    public var version: String
    /// How it was started for fetches.
    public var command: String
    /// What a request to it is.
    public var request: String

    /// The facts.
    public init(server: Server, version: String, command: String, request: String) {
        self.server = server
        self.version = version
        self.command = command
        self.request = request
    }
}

/// How it was measured.
public struct Method: Codable, Sendable {
    /// Samples of each server in each cell.
    public var sampleCount: Int
    /// Seconds of a sample that count.
    public var seconds: Double
    /// Seconds before they count.
    public var warmUpSeconds: Double
    /// How often the servers were started and filled anew; nil in reports that do not say it.
    public var starts: Int?
    /// Samples of workers; nil in reports that do not say it.
    public var longSampleCount: Int?
    /// Seconds of one of them; nil in reports that do not say it.
    public var longSeconds: Double?
    /// The servers' cores.
    public var serverCores: [Int]
    /// The load generator's core.
    public var generatorCore: Int
    /// Distinct payloads of each size, by size.
    public var payloadCounts: [Int: Int]

    /// The method.
    public init(
        sampleCount: Int, seconds: Double, warmUpSeconds: Double, starts: Int? = nil,
        longSampleCount: Int? = nil, longSeconds: Double? = nil,
        serverCores: [Int], generatorCore: Int, payloadCounts: [Int: Int]
    ) {
        self.sampleCount = sampleCount
        self.seconds = seconds
        self.warmUpSeconds = warmUpSeconds
        self.starts = starts
        self.longSampleCount = longSampleCount
        self.longSeconds = longSeconds
        self.serverCores = serverCores
        self.generatorCore = generatorCore
        self.payloadCounts = payloadCounts
    }
}

extension Method {
    /// How often the servers were started, where that was more than once.
    var severalStarts: Int? { starts.flatMap { $0 > 1 ? $0 : nil } }

    /// The samples that were fewer and longer, in words.
    var longSamples: String? {
        guard let longSampleCount, let longSeconds else { return nil }
        return "workers: \(longSampleCount) of \(NumberText.fixed(longSeconds, 1)) s"
    }
}
