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
    /// Microseconds of processor time for one publish, outside the kernel; nil where unknown. It is
    /// that of all rounds by the publishes of all rounds: what a server does only now and then, such
    /// as to rewrite its log, is in it.
    public let user: Double?
    /// The same in the kernel.
    public let kernel: Double?
    /// Bytes written to the device for each byte published, in all rounds; nil where there is no
    /// device.
    public let bytesWritten: Double?
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
        user = Self.mean(samples, \.userMicroseconds)
        kernel = Self.mean(samples, \.kernelMicroseconds)
        bytesWritten = Self.mean(samples, \.bytesWrittenPerByte)
        rates = samples.reduce(into: [:]) { $0[$1.round] = $1.publishesPerSecond }
        times = samples.reduce(into: [:]) { times, sample in
            guard let user = sample.userMicroseconds, let kernel = sample.kernelMicroseconds else {
                return
            }
            times[sample.round] = user + kernel
        }
    }

    /// What a publish cost in all rounds; these are as long as each other, so a round counts by its
    /// rate. nil when a round does not say it.
    private static func mean(
        _ samples: [PublishSample], _ cost: KeyPath<PublishSample, Double?>
    ) -> Double? {
        var (sum, rates) = (0.0, 0.0)
        for sample in samples {
            guard let value = sample[keyPath: cost] else { return nil }
            sum += value * sample.publishesPerSecond
            rates += sample.publishesPerSecond
        }
        return rates > 0 ? sum / rates : nil
    }

    /// Microseconds of processor time for one publish; nil where unknown.
    var time: Double? { user.flatMap { user in kernel.map { user + $0 } } }

    /// `41.3 + 62.0 µs`: outside the kernel and in it.
    var timeText: String {
        guard let user, let kernel else { return "–" }
        return "\(Self.digits(user)) + \(Self.digits(kernel)) µs"
    }

    private static func digits(_ value: Double) -> String {
        NumberText.fixed(value, value < 99.95 ? 1 : 0)
    }
}

/// A ratio, and between which two the rounds were.
public struct RoundRatio: Sendable, Equatable {
    /// The ratio.
    public let value: Double
    /// The least of a round.
    public let least: Double
    /// The most of a round.
    public let most: Double

    /// `1.34 × (1.20–1.41)`.
    var text: String {
        let (least, most) = (NumberText.fixed(least, 2), NumberText.fixed(most, 2))
        return "\(NumberText.ratio(value)) (\(least)–\(most))"
    }

    /// The ratios of those rounds that both have.
    static func rounds(_ some: [Int: Double], _ others: [Int: Double]) -> Spread? {
        Spread(
            some.compactMap { round, value in
                others[round].flatMap { $0 > 0 ? value / $0 : nil }
            })
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

    /// A server's rate over redis's, the median of the rounds; nil unless both took part.
    public func ratio(_ server: Server) -> RoundRatio? {
        guard server != .redis, let own = self[server], let redis = self[.redis],
            let rounds = RoundRatio.rounds(own.rates, redis.rates)
        else { return nil }
        return RoundRatio(value: rounds.median, least: rounds.least, most: rounds.most)
    }

    /// redis's processor time for one publish over a server's, in all rounds: more than 1 is better
    /// here too; nil unless both are known.
    public func timeRatio(_ server: Server) -> RoundRatio? {
        guard server != .redis, let own = self[server], let redis = self[.redis],
            let time = own.time, time > 0, let other = redis.time,
            let rounds = RoundRatio.rounds(redis.times, own.times)
        else { return nil }
        return RoundRatio(value: other / time, least: rounds.least, most: rounds.most)
    }

    /// Whether a server is ahead of redis in the middle of the rounds; nil unless both took part.
    public func isAhead(_ server: Server) -> Bool? { ratio(server).map { $0.value >= 1 } }

    /// ``ratio(_:)`` in a table.
    func ratioText(_ server: Server) -> String { ratio(server)?.text ?? "–" }

    /// ``timeRatio(_:)`` in a table.
    func timeRatioText(_ server: Server) -> String { timeRatio(server)?.text ?? "–" }

    /// The cells of `samples`: by file system and turnover in the order they first came in, then by
    /// size and publishers.
    public static func all(_ samples: [PublishSample]) -> [PublishSummary] {
        PublishGroup.all(samples).flatMap(\.cells)
    }
}
