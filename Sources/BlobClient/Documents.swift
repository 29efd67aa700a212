import FoundationEssentials

/// A notification as `stat` and `list` describe it. Times are RFC 3339 in UTC, as the daemon wrote
/// them.
public struct NotificationRecord: Sendable, Hashable, Codable {
    /// A named payload of a notification.
    public struct Part: Sendable, Hashable, Codable {
        /// The part's name; the unnamed one is called `payload`.
        public let name: String
        /// The media type as it was put.
        public let mediaType: String
        /// The digest, `sha256:` and 64 hexadecimal digits.
        public let digest: String
        /// How many bytes were given.
        public let byteCount: Int64
        /// How many bytes they take in the store.
        public let storedByteCount: Int64
        /// How they are stored: `identity` or `gzip`.
        public let coding: String
    }

    /// The notification's id.
    public let id: String
    /// The user it is for, or nil.
    public let owner: String?
    /// The text, or nil.
    public let message: String?
    /// The kind of rich notification, or nil.
    public let richType: String?
    /// When it was created.
    public let createdAt: String
    /// When it expires.
    public let expiresAt: String
    /// The store's revision at which it last changed.
    public let revision: UInt64
    /// Its parts, at least one.
    public let parts: [Part]
}

/// A page of a list, in the byte order of the ids. Expired notifications are left out.
public struct NotificationPage: Sendable, Hashable, Codable {
    /// The notifications of the page.
    public let notifications: [NotificationRecord]
    /// The id to continue after, or nil when this is the last page.
    public let next: String?
}

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
    /// Bytes in and out since the start.
    public let bytesSent, bytesReceived: Int64?
    /// Errors answered since the start, by code.
    public let errors: [String: Int64]?

    enum CodingKeys: String, CodingKey {
        case notifications, parts, blobs, bytes, bytesStored, bytesReferenced, orphanBlobs
        case orphanBytes, leases, fileBytes, freeBytes, revision, uptimeSeconds, connections
        case requests, publishes, deletes, expired, syncs, bytesSent, bytesReceived, errors
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
        throw ClientError.protocolViolation("a JSON document that cannot be read: \(error)")
    }
}
