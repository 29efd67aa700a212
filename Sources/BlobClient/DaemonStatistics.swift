import FoundationEssentials

/// What `GET /v1/stats` answers. Each whole number of the document is a property, also if it is newer than this client:
/// `statistics.bytesStored` is the member `bytes_stored`. A member that the daemon does not have is nil.
@dynamicMemberLookup
public struct DaemonStatistics: Sendable, Hashable, Decodable {
    private let counters: [String: Int64]
    /// The store's id.
    public let storeID: String?
    /// How long the daemon has been running.
    public let uptimeSeconds: Double?
    /// The daemon's version.
    public let version: String?
    /// Errors answered since the start, by code.
    public let errors: [String: Int64]?
    /// The quotas that are set, by name, and the free space of the file system if there is a quota for it.
    public let quotas: [String: Int64]?
    /// The progress of the scrub, and the known damage.
    public let scrub: ScrubReport?
    /// Answered requests since the start, by operation.
    public let operations: [String: OperationStatistics]?
    /// The upper bounds of the buckets of durations, in nanoseconds.
    public let bucketNanoseconds: [Int64]?
    /// The slowest requests of the last minute, slowest first.
    public let slowest: [SlowRequestStatistics]?

    /// A counter.
    public subscript(dynamicMember name: String) -> Int64? { counters[name] }

    /// A counter, by its name in the document: `bytes_stored`.
    public subscript(name: String) -> Int64? {
        // The decoder has made `bytesStored` of it.
        let words = name.split(separator: "_")
        let others = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return counters[words.prefix(1).joined() + others.joined()]
    }

    /// How requests of one operation were answered since the start.
    public struct OperationStatistics: Sendable, Hashable, Codable {
        /// How often, by HTTP's status.
        public let statuses: [String: Int64]
        /// How long they took in total; nil for what is not timed.
        public let nanoseconds: Int64?
        /// How many took up to each bound of ``DaemonStatistics/bucketNanoseconds``, and longer than the
        /// last; not cumulative.
        public let buckets: [Int64]?
    }

    /// A request that took long.
    public struct SlowRequestStatistics: Sendable, Hashable, Codable {
        /// The operation.
        public let operation: String
        /// HTTP's status.
        public let status: Int64
        /// How long it took.
        public let nanoseconds: Int64
        /// The request line, or the digest of the fetched blob; empty if it is not known.
        public let target: String
        /// When it was answered, in milliseconds since 1970.
        public let atMs: Int64
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads a document whose names the decoder makes Swift's (`convertFromSnakeCase`).
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        func read<T: Decodable>(_ name: String) throws -> T? {
            try members.decodeIfPresent(T.self, forKey: Key(stringValue: name))
        }
        // What the decoder makes of `store_id`.
        storeID = try read("storeId")
        uptimeSeconds = try read("uptimeSeconds")
        version = try read("version")
        errors = try read("errors")
        quotas = try read("quotas")
        scrub = try read("scrub")
        operations = try read("operations")
        bucketNanoseconds = try read("bucketNanoseconds")
        slowest = try read("slowest")
        var counters: [String: Int64] = [:]
        for key in members.allKeys {
            counters[key.stringValue] = try? members.decode(Int64.self, forKey: key)
        }
        self.counters = counters
    }
}

func decode<T: Decodable>(_: T.Type, from document: [UInt8]) throws(ClientError) -> T {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    do {
        return try decoder.decode(T.self, from: Data(document))
    } catch {
        throw ClientError.protocolViolation("invalid JSON document: \(error)")
    }
}

/// The progress of a daemon's scrub, and the damage that it knows of.
public struct ScrubReport: Sendable, Hashable, Codable {
    /// A payload with damaged bytes. It is not sent until the same bytes are published again.
    public struct Quarantined: Sendable, Hashable, Codable {
        /// Its digest.
        public let digest: String
        /// Its bytes, and how many parts refer to it.
        public let byteCount, references: Int64
        /// When the damage was found.
        public let foundAt: String
    }

    /// 1 while a round is running, else 0.
    public let running: Int64
    /// What the present round, or the last one, has read; about how much there is; and the recent rate.
    public let bytesRead, bytesTotal, bytesPerSecond: Int64
    /// When the present round began, and when the last complete one ended.
    public let beganAt, lastEndedAt: String?
    /// Damage found since the daemon's start.
    public let corruptChunks, damagedRecords, damagedEntries: Int64
    /// Payloads that are damaged now.
    public let quarantined: Int64
    /// The first 100 of them; nil in statistics.
    public let quarantine: [Quarantined]?

    /// Whether a round is under way.
    public var isRunning: Bool { running != 0 }
}

/// A daemon's role in its shard, and its position. All but the role are nil if it is not replicated.
public struct ReplicationReport: Sendable, Hashable, Codable {
    /// `alone`, `leader`, `follower` or `changing`.
    public let role: String
    /// The bucket and prefix, and the leader's name.
    public let shard, leader: String?
    /// The epoch, and the last segment of the log.
    public let epoch, segment: Int64?
    /// The last batch of changes here, and the last that is in the bucket.
    public let sequence, shippedSequence: Int64?
    /// Bytes of changes that are not in the bucket.
    public let unreplicatedBytes: Int64?
    /// The age of the oldest of them.
    public let lagMilliseconds: Int64?
    /// Payloads whose bytes are only in the bucket.
    public let evictedPayloads, evictedBytes: Int64?
}
