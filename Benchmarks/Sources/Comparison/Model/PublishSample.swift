/// A file system that the servers' data lay on during publishes.
public struct Storage: Codable, Sendable, Hashable {
    /// `ext4`, `xfs`, `tmpfs`.
    public var fileSystem: String
    /// What is beneath it: the disk of the folder, or a file with the file system in it.
    public var device: String
    /// One `fdatasync` after a write of 4 KiB there, in microseconds: the median of many.
    public var syncMicroseconds: Double

    /// A file system on a device.
    public init(fileSystem: String, device: String, syncMicroseconds: Double) {
        self.fileSystem = fileSystem
        self.device = device
        self.syncMicroseconds = syncMicroseconds
    }
}

/// What becomes of the payloads of earlier publishes.
public enum Turnover: String, Codable, Sendable, CaseIterable {
    /// A fixed set of ids: each publish replaces an earlier one.
    case replaced
    /// Each publish expires after a second, before its id comes again.
    case expiring

    /// For headings: `ids replaced`.
    public var title: String {
        switch self {
        case .replaced: "ids replaced"
        case .expiring: "ids expiring"
        }
    }
}

/// One row of the tables of publishes.
public struct PublishCell: Codable, Sendable, Hashable {
    /// The file system's name; there is one of each.
    public var fileSystem: String
    /// What becomes of earlier payloads.
    public var turnover: Turnover
    /// Bytes in each payload.
    public var byteCount: Int
    /// Connections, each of which waits until its publish is on disk.
    public var publishers: Int

    /// Publishes of this size by so many.
    public init(fileSystem: String, turnover: Turnover, byteCount: Int, publishers: Int) {
        self.fileSystem = fileSystem
        self.turnover = turnover
        self.byteCount = byteCount
        self.publishers = publishers
    }

    /// For headings: `64 publishers`.
    public var publishersTitle: String {
        publishers == 1 ? "1 publisher" : "\(publishers) publishers"
    }

    /// For sentences: `16 KiB × 64`.
    public var label: String { "\(NumberText.bytes(byteCount)) × \(publishers)" }
}

/// What one server did in one round.
public struct PublishSample: Codable, Sendable {
    /// Who.
    public var server: Server
    /// What was published, and where to.
    public var cell: PublishCell
    /// Which round, from 0. All servers have their turn in each.
    public var round: Int
    /// Publishes a second that were on disk.
    public var publishesPerSecond: Double
    /// Half of the answers took at most this long.
    public var p50Microseconds: Double
    /// 99 of 100 answers took at most this long.
    public var p99Microseconds: Double
    /// Processor time of the server's processes for one publish, outside the kernel; nil where it
    /// could not be read.
    public var userMicroseconds: Double?
    /// The same in the kernel.
    public var kernelMicroseconds: Double?
    /// Bytes that the device wrote for each byte of a body, until all was synced; nil where there is
    /// no device.
    public var bytesWrittenPerByte: Double?
    /// The share of its core that the load generator was busy, 0…1.
    public var generatorShare: Double

    /// One round's figures.
    public init(
        server: Server, cell: PublishCell, round: Int, publishesPerSecond: Double,
        p50Microseconds: Double, p99Microseconds: Double, userMicroseconds: Double?,
        kernelMicroseconds: Double?, bytesWrittenPerByte: Double?, generatorShare: Double
    ) {
        self.server = server
        self.cell = cell
        self.round = round
        self.publishesPerSecond = publishesPerSecond
        self.p50Microseconds = p50Microseconds
        self.p99Microseconds = p99Microseconds
        self.userMicroseconds = userMicroseconds
        self.kernelMicroseconds = kernelMicroseconds
        self.bytesWrittenPerByte = bytesWrittenPerByte
        self.generatorShare = generatorShare
    }
}

/// The part of a report that is about publishes.
public struct PublishReport: Codable, Sendable {
    /// The file systems that were measured.
    public var storages: [Storage] = []
    /// What was left out, and why.
    public var omissions: [String] = []
    /// Who took part, and how each was started.
    public var servers: [ServerFacts] = []
    /// Rounds in each cell.
    public var roundCount = 0
    /// Seconds of a round.
    public var seconds = 0.0
    /// Ids that are replaced, by the size of their payloads.
    public var idCounts: [Int: Int] = [:]
    /// Every round of every server.
    public var samples: [PublishSample] = []

    /// A report without figures yet.
    public init() {}
}
