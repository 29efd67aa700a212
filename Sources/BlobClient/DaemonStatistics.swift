import FoundationEssentials

/// What `GET /v1/stats` answers: the daemon's counters, and what has more than a number. A member that this daemon does
/// not have is nil.
///
/// Each whole number of the document is a property: `statistics.bytesStored` is its member `bytes_stored`. A counter that
/// is newer than this client is one, too.
@dynamicMemberLookup
public struct DaemonStatistics: Sendable, Hashable, Decodable {
    /// By the names of the properties.
    private let counters: [String: Int64]
    /// The store's id.
    public let storeID: String?
    /// How long the daemon has been running.
    public let uptimeSeconds: Double?
    /// The daemon's version.
    public let version: String?
    /// Errors answered since the start, by code.
    public let errors: [String: Int64]?
    /// The limits of how much there may be that are set, by name; and what the file system has free, where
    /// there is a limit of that.
    public let quotas: [String: Int64]?
    /// How far the daemon has read its store again, and the damage that it knows of.
    public let scrub: ScrubReport?
    /// Requests that were answered since the start, by operation.
    public let operations: [String: OperationStatistics]?
    /// The upper bounds of the buckets of durations, in nanoseconds.
    public let bucketNanoseconds: [Int64]?
    /// The slowest requests of the last minute, the slowest first.
    public let slowest: [SlowRequestStatistics]?

    /// A counter.
    public subscript(dynamicMember name: String) -> Int64? { counters[name] }

    /// A counter, by its name in the document: `bytes_stored`.
    public subscript(name: String) -> Int64? {
        // As the decoder makes names of Swift's of it.
        let words = name.split(separator: "_")
        let others = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return counters[words.prefix(1).joined() + others.joined()]
    }

    /// How requests of one operation were answered since the start.
    public struct OperationStatistics: Sendable, Hashable, Codable {
        /// How often, by HTTP's status.
        public let statuses: [String: Int64]
        /// How long they took in all; nil for what is not timed.
        public let nanoseconds: Int64?
        /// How many took up to each bound of ``DaemonStatistics/bucketNanoseconds`` and more than the one
        /// before, and how many took longer than the last; not cumulative.
        public let buckets: [Int64]?
    }

    /// A request that took long.
    public struct SlowRequestStatistics: Sendable, Hashable, Codable {
        /// What it asked for.
        public let operation: String
        /// HTTP's status.
        public let status: Int64
        /// How long it took.
        public let nanoseconds: Int64
        /// The request line or the digest of the blob that was fetched; empty where it is not known.
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

/// Reads a document whose members are in snake case.
func decode<T: Decodable>(_: T.Type, from document: [UInt8]) throws(ClientError) -> T {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    do {
        return try decoder.decode(T.self, from: Data(document))
    } catch {
        throw ClientError.protocolViolation("invalid JSON document: \(error)")
    }
}
