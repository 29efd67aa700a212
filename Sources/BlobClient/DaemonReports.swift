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

/// What a daemon is in its shard, and how far it is.
public struct ReplicationReport: Sendable, Hashable, Codable {
    /// `alone`, `leader`, `follower` or `changing`.
    public let role: String
    /// The bucket and prefix, and who leads; nil for a daemon that is not replicated. So are the others.
    public let shard, leader: String?
    /// The epoch, and the last segment of the log.
    public let epoch, segment: Int64?
    /// The last batch of changes here, and the last that is in the bucket.
    public let sequence, shippedSequence: Int64?
    /// Bytes of changes that are not in the bucket.
    public let unreplicatedBytes: Int64?
    /// How old what is not replicated is.
    public let lagMilliseconds: Int64?
    /// Payloads whose bytes are in the bucket and not here, and their bytes as stored.
    public let evictedPayloads, evictedBytes: Int64?
}
