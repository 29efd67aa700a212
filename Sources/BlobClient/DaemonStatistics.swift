import FoundationEssentials

/// The answer of `GET /v1/stats`. Each whole number in the document is a property, even if it is newer than this
/// client: `statistics.bytesStored` is the member `bytes_stored`. A member that the daemon does not send is nil.
@dynamicMemberLookup
public struct DaemonStatistics: Sendable, Hashable, Decodable {
    private let counters: [String: Int64]
    /// The store's id.
    public let storeID: String?
    /// How long the daemon has been running, in seconds.
    public let uptimeSeconds: Double?
    /// The daemon's version.
    public let version: String?
    /// Error answers since the start, by code.
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

    /// A counter, by its name in Swift.
    public subscript(dynamicMember name: String) -> Int64? { counters[name] }

    /// A counter, by its name in the document: `bytes_stored`.
    public subscript(name: String) -> Int64? {
        // The decoder has turned it into `bytesStored`.
        let words = name.split(separator: "_")
        let others = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return counters[words.prefix(1).joined() + others.joined()]
    }

    /// The requests of one operation since the start.
    public struct OperationStatistics: Sendable, Hashable, Codable {
        /// The number of answers, by HTTP status.
        public let statuses: [String: Int64]
        /// Their total duration; nil for operations that are not timed.
        public let nanoseconds: Int64?
        /// How many took up to each bound of ``DaemonStatistics/bucketNanoseconds``, and how many took longer than the
        /// last; not cumulative.
        public let buckets: [Int64]?
    }

    /// A slow request.
    public struct SlowRequestStatistics: Sendable, Hashable, Codable {
        /// The operation.
        public let operation: String
        /// The HTTP status.
        public let status: Int64
        /// Its duration.
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

    /// Reads a document whose names the decoder converts to Swift's (`convertFromSnakeCase`).
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        func read<T: Decodable>(_ name: String) throws -> T? {
            try members.decodeIfPresent(T.self, forKey: Key(stringValue: name))
        }
        // The decoder's form of `store_id`.
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
        /// Its size in bytes, and the number of parts that refer to it.
        public let byteCount, references: Int64
        /// When the damage was found.
        public let foundAt: String
    }

    /// 1 while a round is running, otherwise 0.
    public let running: Int64
    /// What the current round, or the last one, has read; the approximate total; and the recent rate.
    public let bytesRead, bytesTotal, bytesPerSecond: Int64
    /// When the current round began, and when the last complete one ended.
    public let beganAt, lastEndedAt: String?
    /// Damage found since the daemon's start.
    public let corruptChunks, damagedRecords, damagedEntries: Int64
    /// Payloads that are damaged now.
    public let quarantined: Int64
    /// The first 100 damaged payloads; nil in statistics.
    public let quarantine: [Quarantined]?

    /// Whether a round is running.
    public var isRunning: Bool { running != 0 }
}

/// A daemon's role in its shard, and its position. Everything except the role is nil if it is not replicated.
public struct ReplicationReport: Sendable, Hashable, Codable {
    /// `alone`, `leader`, `follower` or `changing`.
    public let role: String
    /// The bucket and prefix, and the leader's name.
    public let shard, leader: String?
    /// The epoch, and the last segment of the log.
    public let epoch, segment: Int64?
    /// The last batch of changes here, and the last one in the bucket.
    public let sequence, shippedSequence: Int64?
    /// Bytes of changes that are not in the bucket.
    public let unreplicatedBytes: Int64?
    /// The age of the oldest such change.
    public let lagMilliseconds: Int64?
    /// Payloads whose bytes are only in the bucket.
    public let evictedPayloads, evictedBytes: Int64?
}
