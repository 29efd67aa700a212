import BlobProtocol

/// How far a daemon has read its store again, and the damage that it knows of.
public struct ScrubReport: Sendable, Hashable, Codable {
    /// A payload of which stored bytes are damaged. It is not sent until the same bytes are published
    /// again.
    public struct Quarantined: Sendable, Hashable, Codable {
        /// Its digest.
        public let digest: String
        /// Its bytes, and how many parts refer to it.
        public let byteCount, references: Int64
        /// When the damage was found.
        public let foundAt: String
    }

    /// 1 while a round is under way, else 0.
    public let running: Int64
    /// Bytes that the present round, or the last one, has read; bytes there are, about; and the rate,
    /// lately.
    public let bytesRead, bytesTotal, bytesPerSecond: Int64
    /// When the present round began, and when the last whole one ended.
    public let beganAt, lastEndedAt: String?
    /// Damage that was found since the daemon's start.
    public let corruptChunks, damagedRecords, damagedEntries: Int64
    /// Payloads that are damaged now.
    public let quarantined: Int64
    /// The first 100 of them; nil in statistics.
    public let quarantine: [Quarantined]?

    /// Whether a round is under way.
    public var isRunning: Bool { running != 0 }
}

extension BlobConnection {
    /// How far the daemon has read its store again.
    public mutating func scrub() throws(ClientError) -> ScrubReport {
        try decode(ScrubReport.self, from: try scrubDocument())
    }

    /// The JSON document that `scrub` reads.
    public mutating func scrubDocument() throws(ClientError) -> [UInt8] {
        try call(.get, "/v1/scrub").body
    }

    /// Has the daemon read all of its store again, at once and as fast as it can. Returns when that has
    /// begun.
    @discardableResult
    public mutating func startScrub() throws(ClientError) -> ScrubReport {
        try decode(ScrubReport.self, from: try call(.post, "/v1/scrub").body)
    }
}
