/// A target, and how far from it the figures are.
public struct Verdict: Sendable {
    /// What is claimed, in a few words: `blobd ≥ fastest peer`.
    public let claim: String
    /// Which cell, for sentences; empty where there is only one.
    public let place: String
    /// What blobd has over what the other has: more than 1 is better, also of latencies, which are
    /// turned round.
    public let ratio: Double
    /// The least ratio that meets the target.
    public let target: Double
    /// Whom it was compared with.
    public let other: String

    /// Whether the target is met.
    public var isMet: Bool { ratio >= target }
}

/// The targets of fetches, cell by cell.
public struct FetchVerdicts: Sendable {
    /// Which cell.
    public let cell: Cell
    /// The binary protocol against the fastest peer, at least 1.
    public let peer: Verdict?
    /// The binary protocol against the faster C program, at least 0.9.
    public let baseline: Verdict?
    /// HTTP against nginx, at least 1.
    public let nginx: Verdict?
    /// HTTP against the fastest peer, at least 1 from 16 KiB up; nil below.
    public let httpPeer: Verdict?
    /// The binary protocol's p99 against the shortest of the peers', at least 1.
    public let latency: Verdict?

    /// From this size on HTTP is held against every peer.
    public static let httpByteCountLeast = 16 << 10

    /// All of them, for counting.
    public var all: [Verdict] { [peer, baseline, nginx, httpPeer, latency].compactMap(\.self) }

    /// The verdicts of one cell.
    public init(_ summary: CellSummary) {
        let cell = summary.cell
        self.cell = cell
        func verdict(
            _ claim: String, _ server: Server, _ other: ServerSummary?, _ target: Double
        ) -> Verdict? {
            guard let ratio = summary.ratio(server, to: other), let other else { return nil }
            return Verdict(
                claim: claim, place: cell.label, ratio: ratio, target: target,
                other: other.server.label)
        }
        peer = verdict("blobd ≥ 1.0 × fastest peer", .blobd, summary.fastestPeer, 1)
        baseline = verdict("blobd ≥ 0.9 × C", .blobd, summary.fastestBaseline, 0.9)
        nginx = verdict("HTTP ≥ 1.0 × nginx", .blobdHTTP, summary[.nginx], 1)
        httpPeer =
            cell.byteCount >= Self.httpByteCountLeast
            ? verdict("HTTP ≥ 1.0 × fastest peer", .blobdHTTP, summary.fastestPeer, 1) : nil
        if let one = summary[.blobd], let best = summary.quickestPeer, one.p99.median > 0 {
            latency = Verdict(
                claim: "p99 ≤ best peer's", place: cell.label,
                ratio: best.p99.median / one.p99.median, target: 1, other: best.server.label)
        } else {
            latency = nil
        }
    }
}

/// Reads in process against the C program that does the same.
public struct ReadSummary: Sendable {
    /// Which way of reading.
    public let reader: Reader
    /// Payloads found a second.
    public let rate: Spread
    /// Instructions for one, where they were counted.
    public let instructions: Double?
    /// Against C, at least 0.8; nil for C itself.
    public let verdict: Verdict?

    /// In the order of ``Reader/allCases``, those that took part.
    public static func all(_ report: Report) -> [ReadSummary] {
        let rates = Reader.allCases.reduce(into: [Reader: Spread]()) { rates, reader in
            rates[reader] = Spread(
                report.reads.filter { $0.reader == reader }.map(\.readsPerSecond))
        }
        return Reader.allCases.compactMap { reader in
            guard let rate = rates[reader] else { return nil }
            let verdict = reader.baseline.flatMap { rates[$0] }.map {
                Verdict(
                    claim: "\(reader.label) ≥ 0.8 × C", place: "", ratio: rate.median / $0.median,
                    target: 0.8, other: "C")
            }
            return ReadSummary(
                reader: reader, rate: rate, instructions: report.instructionsPerRead[reader],
                verdict: verdict)
        }
    }
}
