/// The cells of one file system and one turnover.
public struct PublishGroup: Sendable {
    /// `ext4`.
    public let fileSystem: String
    /// What becomes of earlier payloads.
    public let turnover: Turnover
    /// By size, then by publishers.
    public let cells: [PublishSummary]

    /// `ext4, ids replaced`.
    public var title: String { "\(fileSystem), \(turnover.title)" }

    /// In the order they first came in.
    public static func all(_ samples: [PublishSample]) -> [PublishGroup] {
        let byCell = Dictionary(grouping: samples, by: \.cell)
        let cells = samples.map(\.cell).uniqued()
        let keys = cells.map { Key(fileSystem: $0.fileSystem, turnover: $0.turnover) }.uniqued()
        return keys.map { key in
            let own = cells.filter {
                $0.fileSystem == key.fileSystem && $0.turnover == key.turnover
            }.sorted { ($0.byteCount, $0.publishers) < ($1.byteCount, $1.publishers) }
            return PublishGroup(
                fileSystem: key.fileSystem, turnover: key.turnover,
                cells: own.map { cell in
                    let byServer = Dictionary(grouping: byCell[cell] ?? [], by: \.server)
                    return PublishSummary(
                        cell: cell,
                        servers: Server.allCases.compactMap {
                            PublishServerSummary($0, byServer[$0] ?? [])
                        })
                })
        }
    }

    private struct Key: Hashable {
        var fileSystem: String
        var turnover: Turnover
    }

    /// In which cells a dialect is ahead of redis, and in which not, in a sentence with every ratio;
    /// nil unless both took part.
    public func verdict(_ server: Server) -> String? {
        let held = cells.filter { $0.isAhead(server) != nil }
        guard !held.isEmpty else { return nil }
        let ahead = held.filter { $0.isAhead(server) == true }
        func list(_ some: [PublishSummary]) -> String {
            some.map { "\($0.cell.label) \($0.ratioText(server))" }.joined(separator: ", ")
        }
        let cells =
            held.count == 1 && ahead.count == 1
            ? "the one cell"
            : "\(ahead.count == held.count ? "all" : "\(ahead.count) of") \(held.count) cells"
        var text = "\(title): \(server.label) is ahead of redis in \(cells)"
        if !ahead.isEmpty { text += ": \(list(ahead))" }
        let behind = held.filter { $0.isAhead(server) == false }
        if !behind.isEmpty { text += "; behind: \(list(behind))" }
        return "\(text)."
    }

    /// The verdict of each dialect.
    public var verdicts: [String] { Server.those(.subject).compactMap(verdict) }
}
