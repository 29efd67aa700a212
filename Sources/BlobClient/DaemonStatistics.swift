import FoundationEssentials

/// The daemon's counters. One that this daemon does not have is nil.
public struct DaemonStatistics: Sendable, Hashable, Codable {
    /// Live notifications, their parts, and the distinct blobs behind them.
    public let notifications, parts, blobs: Int64?
    /// Bytes of the blobs, each once: as given, and as stored.
    public let bytes, bytesStored: Int64?
    /// Bytes as given, counted once for every part that refers to them.
    public let bytesReferenced: Int64?
    /// Blobs nobody refers to whose space is about to be freed.
    public let orphanBlobs, orphanBytes: Int64?
    /// Promises to connections that are still being sent to.
    public let leases: Int64?
    /// The size of the data file, and how much of it is free.
    public let fileBytes, freeBytes: Int64?
    /// The store's revision.
    public let revision: Int64?
    /// The store's id.
    public let storeID: String?
    /// How long the daemon has been running.
    public let uptimeSeconds: Double?
    /// Open connections, and what has been served since the start.
    public let connections, requests, publishes, deletes, expired, syncs: Int64?
    /// Connections that have ended and are kept until their peers have read what they were sent.
    public let draining: Int64?
    /// Memory that bodies on their way into the store have now, and files they are spooled to.
    public let bodyMemoryBytes, bodySpools: Int64?
    /// Bytes in and out since the start.
    public let bytesSent, bytesReceived: Int64?
    /// Deleted and expired notifications that feeds still tell of, blobs kept for a publish to come,
    /// and categories.
    public let tombstones, heldBlobs, categories: Int64?
    /// Who waits for changes now; how often one was woken, and patches and responses carried out,
    /// since the start.
    public let watchers, feedWakes, patches, responses: Int64?
    /// Bytes of answers that are held for clients that have not read them; connections that were
    /// ended for holding them while memory was short, since the start.
    public let answerMemoryBytes, unreadEnds: Int64?
    /// Errors answered since the start, by code.
    public let errors: [String: Int64]?
    /// The limits of how much there may be that are set, by name; and what the file system has free, where
    /// there is a limit of that.
    public let quotas: [String: Int64]?
    /// How far the daemon has read its store again, and the damage that it knows of.
    public let scrub: ScrubReport?
    /// The daemon's version.
    public let version: String?
    /// Threads that serve connections.
    public let workers: Int64?
    /// What the data file takes on disk, in bytes.
    public let allocatedBytes: Int64?
    /// Requests that were answered since the start, by operation.
    public let operations: [String: OperationStatistics]?
    /// The upper bounds of the buckets of durations, in nanoseconds.
    public let bucketNanoseconds: [Int64]?
    /// The slowest requests of the last minute, the slowest first.
    public let slowest: [SlowRequestStatistics]?
    /// How often the wall clock has jumped since the start.
    public let clockJumps: Int64?

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

    enum CodingKeys: String, CodingKey {
        case notifications, parts, blobs, bytes, bytesStored, bytesReferenced, orphanBlobs
        case orphanBytes, leases, fileBytes, freeBytes, revision, uptimeSeconds, connections
        case requests, publishes, deletes, expired, syncs, bytesSent, bytesReceived, errors
        case tombstones, heldBlobs, categories, watchers, feedWakes, patches, responses
        case draining, bodyMemoryBytes, bodySpools
        case answerMemoryBytes, unreadEnds, quotas, scrub, version, workers, allocatedBytes
        case operations, bucketNanoseconds, slowest, clockJumps
        // What the decoder makes of `store_id`.
        case storeID = "storeId"
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
