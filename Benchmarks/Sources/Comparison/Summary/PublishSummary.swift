/// What a server's rounds in one cell come to.
public struct PublishServerSummary: Sendable {
    /// Who.
    public let server: Server
    /// Publishes a second.
    public let rate: Spread
    /// Microseconds.
    public let p50: Spread
    /// Microseconds.
    public let p99: Spread
    /// Microseconds of processor time for one publish, outside the kernel; nil where unknown.
    public let user: Spread?
    /// The same in the kernel.
    public let kernel: Spread?
    /// Bytes written to the device for each byte published; nil where there is no device.
    public let bytesWritten: Spread?
    /// Publishes a second, by round.
    let rates: [Int: Double]
    /// Microseconds of processor time for one publish, by round.
    let times: [Int: Double]

    init?(_ server: Server, _ samples: [PublishSample]) {
        guard let rate = Spread(samples.map(\.publishesPerSecond)),
            let p50 = Spread(samples.map(\.p50Microseconds)),
            let p99 = Spread(samples.map(\.p99Microseconds))
        else { return nil }
        self.server = server
        self.rate = rate
        self.p50 = p50
        self.p99 = p99
        user = Spread(samples.compactMap(\.userMicroseconds))
        kernel = Spread(samples.compactMap(\.kernelMicroseconds))
        bytesWritten = Spread(samples.compactMap(\.bytesWrittenPerByte))
        rates = samples.reduce(into: [:]) { $0[$1.round] = $1.publishesPerSecond }
        times = samples.reduce(into: [:]) { times, sample in
            guard let user = sample.userMicroseconds, let kernel = sample.kernelMicroseconds else {
                return
            }
            times[sample.round] = user + kernel
        }
    }

    /// `41.3 + 62.0 µs`: outside the kernel and in it.
    var timeText: String {
        guard let user, let kernel else { return "–" }
        return "\(Self.digits(user.median)) + \(Self.digits(kernel.median)) µs"
    }

    private static func digits(_ value: Double) -> String {
        NumberText.fixed(value, value < 99.95 ? 1 : 0)
    }
}

/// One cell of publishes: everyone who was measured in it.
public struct PublishSummary: Sendable {
    /// What was published.
    public let cell: PublishCell
    /// In the order of ``Server/allCases``.
    public let servers: [PublishServerSummary]

    /// The one that is asked for; nil when it did not take part.
    public subscript(server: Server) -> PublishServerSummary? {
        servers.first { $0.server == server }
    }

    /// A server's rate over redis's, round by round; nil unless both took part.
    public func ratio(_ server: Server) -> Spread? {
        guard server != .redis, let own = self[server], let redis = self[.redis] else { return nil }
        return Self.ratio(own.rates, redis.rates)
    }

    /// redis's processor time for one publish over a server's, round by round: more than 1 is better
    /// here too; nil unless both are known.
    public func timeRatio(_ server: Server) -> Spread? {
        guard server != .redis, let own = self[server], let redis = self[.redis] else { return nil }
        return Self.ratio(redis.times, own.times)
    }

    private static func ratio(_ some: [Int: Double], _ others: [Int: Double]) -> Spread? {
        Spread(
            some.compactMap { round, value in
                others[round].flatMap { $0 > 0 ? value / $0 : nil }
            })
    }

    /// Whether a server is ahead of redis in the middle of the rounds; nil unless both took part.
    public func isAhead(_ server: Server) -> Bool? { ratio(server).map { $0.median >= 1 } }

    /// `1.34 × (1.20–1.41)`: the median of the rounds, the least and the most.
    func ratioText(_ server: Server) -> String { Self.text(ratio(server)) }

    /// The same of ``timeRatio(_:)``.
    func timeRatioText(_ server: Server) -> String { Self.text(timeRatio(server)) }

    private static func text(_ ratio: Spread?) -> String {
        guard let ratio else { return "–" }
        let (least, most) = (NumberText.fixed(ratio.least, 2), NumberText.fixed(ratio.most, 2))
        return "\(NumberText.ratio(ratio.median)) (\(least)–\(most))"
    }

    /// The cells of `samples`: by file system and turnover in the order they first came in, then by
    /// size and publishers.
    public static func all(_ samples: [PublishSample]) -> [PublishSummary] {
        PublishGroup.all(samples).flatMap(\.cells)
    }
}

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
