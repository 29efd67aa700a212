import LoadGenerator

/// Everything one comparison found: `report.json`, of which `Report/render.py` makes tables and charts.
struct Report: Encodable {
    var machine: MachineFacts
    var method: Method
    /// Those that took part in the fetches.
    var servers: [ServerFacts] = []
    var fetches: [Sample] = []
    var publishes = PublishReport()
    var reads: [ReadSample] = []
    /// Counted by valgrind; empty where it is not installed.
    var instructionsPerRead: [Reader: Double] = [:]
    /// Bytes in a payload that is read in process.
    var readByteCount = 0
    var workers: [WorkersSample] = []
}

/// What is measured: blobd in its two dialects, with its default `spin` and with none, the peers, a C program over the
/// daemon's own file, which answers with `sendmsg` from the map or with `sendfile`, and the program of `--floor`.
enum Server: String, Encodable, CaseIterable {
    case blobd
    case blobdHTTP = "blobd-http"
    case blobdSpin0 = "blobd-spin-0"
    case blobdHTTPSpin0 = "blobd-http-spin-0"
    case memcached, redis, nginx, varnish
    case baselineWritev = "c-writev"
    case baselineSendfile = "c-sendfile"
    case floor

    static let baselines: [Server] = [.baselineWritev, .baselineSendfile]
}

/// What the figures depend on.
struct MachineFacts: Encodable {
    /// When it began, as RFC 3339.
    var date: String
    var processor: String
    /// Cores this process may use.
    var cores: Int
    var memoryByteCount: Int
    var kernel: String
    /// The distribution.
    var system: String
    /// That of the servers' data.
    var fileSystem: String
    /// One `fdatasync` after a write of 4 KiB there: the median of many.
    var syncMicroseconds: Double
    /// With `+` when files were changed since.
    var commit: String
    /// Runnable tasks when it began, as the kernel averages them over a minute.
    var loadAverage: Double
}

/// A server that took part.
struct ServerFacts: Encodable {
    var server: Server
    var version: String
    /// How it was started.
    var command: String
    /// What a request to it is.
    var request: String
}

/// How it was measured.
struct Method: Encodable {
    var sampleCount: Int
    /// Seconds of a sample that count, and those before them.
    var seconds: Double
    var warmUpSeconds: Double
    /// How often the servers were started and filled.
    var starts: Int
    /// Samples of workers, which are fewer and longer.
    var longSampleCount: Int
    var longSeconds: Double
    var serverCores: [Int]
    var generatorCore: Int
    /// Distinct payloads, by their size.
    var payloadCounts: [Int: Int]
}

/// Connections, and the requests that each keeps unanswered.
struct Load: Encodable, Hashable {
    var connections: Int
    var inFlight: Int
}

/// Payloads of one size under one load.
struct Cell: Encodable {
    var byteCount: Int
    var load: Load

    /// `16 KiB, 16 × 1`.
    var label: String { "\(sizeText(byteCount)), \(load.connections) × \(load.inFlight)" }
}

/// What one server did in one sample of one cell.
struct Sample: Encodable {
    var server: Server
    var cell: Cell
    /// From 0.
    var number: Int
    /// Answers that were whole and right.
    var requestsPerSecond: Double
    var p50Microseconds: Double
    var p99Microseconds: Double
    /// Processor time of the server's processes for one answer; nil where it could not be read.
    var serverMicroseconds: Double?
    /// The share of its core that the load generator was busy, 0…1: near 1, it was the limit. Of workers it is in
    /// cores, and may be more than 1.
    var generatorShare: Double
}

/// A sample of blobd with so many workers, on all of the machine's cores.
struct WorkersSample: Encodable {
    var workers: Int
    var sample: Sample
}

/// A way to read a payload in the reader's own process.
enum Reader: String, Encodable, CaseIterable, CodingKeyRepresentable {
    /// C: two `mdb_get`, the transaction renewed for each read.
    case c = "c-renewed"
    /// `BlobStore.withPayload`, which opens a snapshot for each read.
    case withPayload
    /// C: two `mdb_get`, the transaction renewed every 256 reads.
    case cHeld = "c-held"
    /// `BlobStore.withSnapshot`, one snapshot for 256 reads.
    case withSnapshot
}

/// What one way of reading did in one sample.
struct ReadSample: Encodable {
    var reader: Reader
    var number: Int
    var readsPerSecond: Double
}

/// Durable publishes: alone, in pairs, and with watchers.
struct PublishReport: Encodable {
    var storages: [Storage] = []
    /// File systems that were left out, and why.
    var omissions: [String] = []
    var servers: [ServerFacts] = []
    var roundCount = 0
    /// Seconds of a round.
    var seconds = 0.0
    /// Ids that are replaced, by the size of their payloads.
    var replacedIDs: [Int: Int] = [:]
    /// Every round of every server.
    var samples: [PublishSample] = []
}

/// A file system that the servers' data lay on.
struct Storage: Encodable {
    /// `ext4`, `xfs`, `tmpfs`.
    var fileSystem: String
    /// What is beneath it: the disk of the folder, or a file with the file system in it.
    var device: String
    /// As ``MachineFacts/syncMicroseconds``.
    var syncMicroseconds: Double
}

/// What becomes of the payloads of earlier publishes.
enum Turnover: String, Encodable, CaseIterable {
    /// A fixed set of ids: each publish replaces an earlier one.
    case replaced
    /// Each publish expires after a second, before its id is used again.
    case expiring
    /// Each publish has an id of its own; the servers begin anew in every round.
    case new
}

/// What is done with a publish.
enum Operation: String, Encodable {
    case publish
    /// The publisher fetches it at once.
    case pair
    /// Watchers of its owner are told.
    case event

    /// As in `2,000 pairs`.
    var plural: String { "\(self == .publish ? "publishe" : rawValue)s" }
}

/// Payloads of one size by so many publishers, each of which waits until its publish is on disk, and does what belongs
/// to the operation.
struct PublishCell: Encodable {
    var operation: Operation
    var fileSystem: String
    var turnover: Turnover
    /// Whether publishes have owners.
    var hasOwners: Bool
    /// Notifications that were stored before.
    var stored: Int
    var byteCount: Int
    /// Publishers, or the watchers of the only one.
    var connections: Int

    /// `pairs on ext4, ids new, with owners, 16 KiB × 64`.
    var label: String {
        "\(operation.plural) on \(fileSystem), ids \(turnover.rawValue)"
            + "\(hasOwners ? ", with owners" : "")\(stored > 0 ? ", \(stored) stored" : ""), "
            + "\(sizeText(byteCount)) × \(connections)"
    }
}

/// What one server did in one round.
struct PublishSample: Encodable {
    var server: Server
    var cell: PublishCell
    /// From 0. All servers have their turn in each.
    var round: Int
    /// Publishes, with what belongs to them.
    var perSecond: Double
    /// Of the publish, of its fetch, and from sending it until a watcher is told.
    var publish: Latency?
    var fetch: Latency?
    var event: Latency?
    /// Processor time of the server's processes for one publish, with what belongs to it, outside the kernel and in it;
    /// nil where it could not be read.
    var userMicroseconds: Double?
    var kernelMicroseconds: Double?
    /// Bytes that the device wrote for each byte of a body, until all was synced; nil where there is no device.
    var bytesWrittenPerByte: Double?
    var generatorShare: Double
}

/// Percentiles.
struct Latency: Encodable {
    var p50Microseconds: Double
    var p90Microseconds: Double
    var p99Microseconds: Double
    var p999Microseconds: Double

    init?(_ figures: KindFigures?) {
        guard let latency = figures?.latency else { return nil }
        p50Microseconds = latency.p50Microseconds
        p90Microseconds = latency.p90Microseconds
        p99Microseconds = latency.p99Microseconds
        p999Microseconds = latency.p999Microseconds
    }
}

/// `16 KiB`, or bytes that are no whole number of KiB.
func sizeText(_ byteCount: Int) -> String {
    byteCount.isMultiple(of: 1_024) ? "\(byteCount >> 10) KiB" : "\(byteCount) B"
}
