/// What a server's samples in one cell come to.
public struct ServerSummary: Sendable {
    /// Who.
    public let server: Server
    /// Answers a second.
    public let rate: Spread
    /// Microseconds.
    public let p50: Spread
    /// Microseconds.
    public let p99: Spread
    /// Microseconds of the server's processor time for one answer; nil where unknown.
    public let serverTime: Spread?
    /// The load generator's share of its core.
    public let generatorShare: Spread

    init?(_ server: Server, _ samples: [Sample]) {
        guard let rate = Spread(samples.map(\.requestsPerSecond)),
            let p50 = Spread(samples.map(\.p50Microseconds)),
            let p99 = Spread(samples.map(\.p99Microseconds)),
            let share = Spread(samples.map(\.generatorShare))
        else { return nil }
        self.server = server
        self.rate = rate
        self.p50 = p50
        self.p99 = p99
        serverTime = Spread(samples.compactMap(\.serverMicroseconds))
        generatorShare = share
    }
}

/// One cell: everyone who was measured in it.
public struct CellSummary: Sendable {
    /// What was asked.
    public let cell: Cell
    /// In the order of ``Server/allCases``.
    public let servers: [ServerSummary]

    /// The one that is asked for; nil when it did not take part.
    public subscript(server: Server) -> ServerSummary? {
        servers.first { $0.server == server }
    }

    /// Those of one part.
    public func those(_ role: Server.Role) -> [ServerSummary] {
        servers.filter { $0.server.role == role }
    }

    /// The peer with the most answers a second; nil without peers.
    public var fastestPeer: ServerSummary? { Self.fastest(those(.peer)) }

    /// The faster of the two C programs; nil without them.
    public var fastestBaseline: ServerSummary? { Self.fastest(those(.baseline)) }

    /// The peer with the shortest p99 of those that served every connection; nil without any.
    public var quickestPeer: ServerSummary? {
        those(.peer).filter { !isStarving($0) }.min { $0.p99.median < $1.p99.median }
    }

    /// Whether a server left most of what it was asked unanswered until the end, so that its
    /// latencies are those of a few: what is in flight is rate times mean latency (Little's law),
    /// and here not even the 99th percentile makes up half of it.
    public func isStarving(_ server: ServerSummary) -> Bool {
        let inFlight = Double(cell.load.connections * cell.load.inFlight)
        return server.rate.median * server.p99.median / 1e6 < inFlight / 2
    }

    private static func fastest(_ some: [ServerSummary]) -> ServerSummary? {
        some.max { $0.rate.median < $1.rate.median }
    }

    /// One server's median rate over another's; nil when either did not take part.
    public func ratio(_ server: Server, to other: ServerSummary?) -> Double? {
        guard let one = self[server], let other, other.rate.median > 0 else { return nil }
        return one.rate.median / other.rate.median
    }

    /// The cells of `samples`, by size and then by load, each in the order it first came in.
    public static func all(_ samples: [Sample]) -> [CellSummary] {
        var cells: [Cell] = []
        var byCell: [Cell: [Server: [Sample]]] = [:]
        for sample in samples {
            if byCell[sample.cell] == nil { cells.append(sample.cell) }
            byCell[sample.cell, default: [:]][sample.server, default: []].append(sample)
        }
        return cells.sorted {
            ($0.byteCount, $0.load.connections, $0.load.inFlight)
                < ($1.byteCount, $1.load.connections, $1.load.inFlight)
        }.map { cell in
            CellSummary(
                cell: cell,
                servers: Server.allCases.compactMap { ServerSummary($0, byCell[cell]?[$0] ?? []) })
        }
    }
}
