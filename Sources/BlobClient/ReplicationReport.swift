import BlobProtocol

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

extension BlobConnection {
    /// What the daemon is in its shard.
    public mutating func replication() throws(ClientError) -> ReplicationReport {
        try decode(ReplicationReport.self, from: try replicationDocument())
    }

    /// The JSON document that `replication` reads.
    public mutating func replicationDocument() throws(ClientError) -> [UInt8] {
        try call(.get, "/v1/replication").body
    }

    /// Has the daemon take the lead of its shard. Returns when it leads.
    ///
    /// - Parameter isForced: whether the leader is not asked, because it is gone.
    /// - Returns: the JSON document that `replication` reads.
    @discardableResult
    public mutating func promote(isForced: Bool = false) throws(ClientError) -> [UInt8] {
        try call(.post, isForced ? "/v1/replication?force=true" : "/v1/replication").body
    }
}
