import LoadGenerator

/// Which publishes are measured, and for how long.
struct PublishPlan {
    var sizes: [Int]
    var publishers: [Int]
    var turnovers: [Turnover]
    /// By name; nil: the folder's own and XFS, or in memory ext4 and XFS.
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
    static let measured: [Server] = [.blobd, .blobdHTTP, .redis]
    /// Sizes that are measured when none are given: a text, a small picture, a picture.
    static let usualSizes = [1 << 10, 16 << 10, 128 << 10]

    /// What the ids of one size take together, in bytes, and how many they are at most.
    private static let replacedByteCount = 128 << 20
    private static let replacedCountMax = 16_384
    /// Ids that expire are used again only long afterwards: a server would have to publish 2 GB or
    /// 50,000 in a second to replace one that has not expired.
    private static let expiringByteCount = 2 << 30
    private static let expiringCountMax = 100_000

    /// A TTL that no round reaches, and one that every round passes.
    func ttlSeconds(_ turnover: Turnover) -> Int { turnover == .replaced ? 7_200 : 1 }

    /// Until what was published has expired and been removed: the TTL, blobd's interval between
    /// removals, and a little.
    static let expirySeconds = 2.5

    /// Connections that fill a server, however many publishers a cell has.
    static let fillConnections = 64

    /// How many ids there are.
    func idCount(_ turnover: Turnover, byteCount: Int) -> Int {
        switch turnover {
        case .replaced:
            let count = min(Self.replacedByteCount / byteCount, Self.replacedCountMax)
            return max(isQuick ? count / 4 : count, LoadLimits.payloadCountUsual.lowerBound)
        case .expiring:
            return max(
                min(Self.expiringByteCount / byteCount, Self.expiringCountMax),
                LoadLimits.payloadCountUsual.lowerBound)
        }
    }

    /// The ids, and what the bodies are made from.
    func payloads(_ cell: PublishCell) throws -> LoadPayloads {
        try LoadPayloads(
            .fixed(cell.byteCount), count: idCount(cell.turnover, byteCount: cell.byteCount),
            seed: Plan.seed)
    }

    /// The cells on one file system.
    func cells(on fileSystem: String) -> [PublishCell] {
        turnovers.flatMap { turnover in
            sizes.flatMap { size in
                publishers.map {
                    PublishCell(
                        fileSystem: fileSystem, turnover: turnover, byteCount: size,
                        publishers: $0)
                }
            }
        }
    }

    /// What the rounds take together, with what is around them.
    var secondsExpected: Double {
        let fileSystemCount = fileSystems?.count ?? 2
        let cellCount = sizes.count * publishers.count * fileSystemCount
        return turnovers.reduce(0) { sum, turnover in
            sum + Double(cellCount)
                * (cellSeconds + Double(roundCount * servers.count) * roundSeconds(turnover))
        }
    }

    /// Starting and filling the servers of a cell.
    var cellSeconds: Double { isQuick ? 1.5 : 5 }

    /// One server's part of a round.
    func roundSeconds(_ turnover: Turnover) -> Double {
        seconds + 0.3 + (turnover == .expiring ? 2 * Self.expirySeconds : 0)
    }
}
