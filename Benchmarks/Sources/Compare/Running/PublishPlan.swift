import LoadGenerator

/// Which publishes are measured, and for how long.
struct PublishPlan {
    var operations: [Operation]
    var sizes: [Int]
    /// Publishers of publishes alone and of pairs, and watchers of events.
    var connections: [Operation: [Int]]
    /// Of publishes alone.
    var turnovers: [Turnover]
    /// Of publishes alone and of pairs; nil: the former without, the latter also with.
    var owners: [Bool]?
    /// Notifications that are stored before.
    var stored: [Int]
    /// Ids that are replaced; nil: by their size.
    var replacedIDs: Int?
    /// By name; nil: the folder's own and, for publishes alone, XFS; in memory ext4 and XFS.
    var fileSystems: [String]?
    /// Whether each of them is made in a file, also the folder's own.
    var inFiles: Bool
    var roundCount: Int
    var seconds: Double
    /// Of ``Self/measured``.
    var servers: [Server]
    /// A quarter of the ids.
    var isQuick: Bool
    var generatorCore: Int

    /// Those that can make a publish durable.
    static let measured: [Server] = [
        .blobd, .blobdHTTP, .blobdSpin0, .blobdHTTPSpin0, .redis, .floor,
    ]
    /// Sizes that are measured when none are given: a text, a small picture, a picture.
    static let usualSizes = [1 << 10, 16 << 10, 128 << 10]

    /// What the ids of one size take together, in bytes, and how many they are at most.
    private static let replacedByteCount = 128 << 20
    private static let replacedCountMax = 16_384
    /// Ids that expire are used again only long afterwards: a server would have to publish 2 GB or
    /// 50,000 in a second to replace one that has not expired.
    private static let expiringByteCount = 2 << 30
    private static let expiringCountMax = 100_000
    /// Owners of new ids; a multiple of what is stored before.
    static let newCount = 10_000

    /// A TTL that no round reaches, and one that every round passes.
    func ttlSeconds(_ turnover: Turnover) -> Int { turnover == .expiring ? 1 : 86_400 }

    /// Until what was published has expired and been removed: the TTL, blobd's interval between
    /// removals, and a little.
    static let expirySeconds = 2.5
    /// New servers of a round have this long before it.
    static let warmUpSeconds = 0.2
    /// After a round, for deferred work, such as a commit or what is left of a log's rewriting, before a server's
    /// figures are read.
    static let settleSeconds = 1.2

    /// What the servers' data need, with a copy of what is stored before.
    var volumeByteCount: Int {
        let most = stored.max() ?? 0
        return (most > 0 ? 8 << 30 : 4 << 30) + 6_144 * most
    }

    /// Connections that fill a server, however many publishers a cell has.
    static let fillConnections = 64

    /// How many ids, or forms of new ids, there are.
    func idCount(_ turnover: Turnover, byteCount: Int) -> Int {
        switch turnover {
        case .replaced:
            let count = min(Self.replacedByteCount / byteCount, Self.replacedCountMax)
            return replacedIDs
                ?? max(isQuick ? count / 4 : count, LoadLimits.payloadCountUsual.lowerBound)
        case .expiring:
            return max(
                min(Self.expiringByteCount / byteCount, Self.expiringCountMax),
                LoadLimits.payloadCountUsual.lowerBound)
        case .new: return Self.newCount
        }
    }

    /// The ids, and what the bodies are made from.
    func payloads(_ cell: PublishCell) throws -> LoadPayloads {
        try LoadPayloads(
            .fixed(cell.byteCount), count: idCount(cell.turnover, byteCount: cell.byteCount),
            seed: Plan.seed)
    }

    /// The cells on one file system.
    ///
    /// - Parameter isFurther: whether the file system was not asked for and is not the first.
    func cells(on fileSystem: String, isFurther: Bool) -> [PublishCell] {
        var cells: [PublishCell] = []
        for operation in operations where operation == .publish || !isFurther {
            let (turnovers, owners, sizes) =
                switch operation {
                case .publish: (turnovers, owners ?? [false], sizes)
                case .pair: ([.new], owners ?? [false, true], sizes)
                case .event: ([.new], [true], Array(sizes.prefix(1)))
                }
            for stored in stored {
                for turnover in turnovers {
                    for hasOwners in owners {
                        for byteCount in sizes {
                            for connections in connections[operation] ?? [] {
                                cells.append(
                                    PublishCell(
                                        operation: operation, fileSystem: fileSystem,
                                        turnover: turnover, hasOwners: hasOwners, stored: stored,
                                        byteCount: byteCount, connections: connections))
                            }
                        }
                    }
                }
            }
        }
        return cells
    }

    /// Who takes part in a cell. The floor expires nothing and has no events; without busy-polling blobd is another where
    /// it waits for requests.
    func servers(_ cell: PublishCell) -> [Server] {
        servers.filter {
            switch $0 {
            case .floor: cell.turnover != .expiring && cell.operation != .event
            case .blobdSpin0, .blobdHTTPSpin0: cell.connections < 64
            default: true
            }
        }
    }

    /// What the rounds take together, with what is around them.
    var secondsExpected: Double {
        let fileSystems = fileSystems ?? ["", "xfs"]
        return fileSystems.enumerated()
            .flatMap { cells(on: $1, isFurther: $0 > 0 && self.fileSystems == nil) }
            .reduce(0) {
                $0 + cellSeconds
                    + Double(roundCount * servers($1).count) * roundSeconds($1.turnover)
            }
    }

    /// Starting and filling the servers of a cell.
    var cellSeconds: Double { isQuick ? 1.5 : 5 }

    /// One server's part of a round.
    func roundSeconds(_ turnover: Turnover) -> Double {
        seconds + Self.settleSeconds + 0.1
            + [.expiring: 2 * Self.expirySeconds, .new: 0.8][turnover, default: 0]
    }
}
