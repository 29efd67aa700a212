internal import Bytes
@_exported public import Notifications

/// A notification as the store knows it: everything about it but the bytes of its parts. A copy of
/// its own, valid permanently.
public struct Record: Sendable, Hashable {
    /// What it is found by.
    public var id: String
    /// The user it is for, when the publisher said so.
    public var owner: String?
    /// A line of text to show, when the publisher gave one.
    public var message: String?
    /// What kind of rich content it is, in the publisher's words.
    public var richType: String?
    /// When this id was first published.
    public var createdAt: Timestamp
    /// From this moment on it is not found.
    public var expiresAt: Timestamp
    /// The number of the store's change that made it what it is; it grows with each.
    public var revision: UInt64
    /// Its payloads; the one called `payload` first, the others by name.
    public var parts: [Part]
    /// The revision at which it came to its owner; 0: the record's own. See ``sequence``.
    var arrival: UInt64 = 0
    var box: DetailsBox?

    /// The part of that name, or nil. Names are compared as bytes, not as Swift compares texts: é
    /// as one scalar and as two are two names.
    public func part(named name: String) -> Part? { parts.first { $0.isNamed(name) } }
}

/// One named payload of a notification.
public struct Part: Sendable, Hashable {
    /// The part that is meant when none is named.
    static let defaultName = "payload"

    /// Its name; `payload` for the unnamed one.
    public var name: String
    /// Its media type, as the publisher gave it (RFC 9110, section 8.3).
    public var mediaType: String
    /// Which blob it is, and how that is stored.
    public var blob: BlobReference

    func isNamed(_ name: String) -> Bool { self.name.isSame(as: name) }

    /// The SHA-256 of its bytes as given.
    public var digest: Digest { blob.digest }
    /// Bytes as given.
    public var byteCount: Int { blob.byteCount }
    /// Bytes as stored.
    public var storedByteCount: Int { blob.storedByteCount }
    /// How they are stored.
    public var coding: Coding { blob.coding }
}

/// Where a blob's bytes are: a plain value that may outlive the snapshot it came from. To read by
/// it later, hold a ``Lease`` taken while that snapshot was open.
public struct BlobReference: Sendable, Hashable {
    /// The SHA-256 of its bytes as given.
    public var digest: Digest
    /// The number its chunks are kept under. Never used twice.
    public var number: UInt64
    /// Bytes as given.
    public var byteCount: Int
    /// Bytes as stored.
    public var storedByteCount: Int
    /// How they are stored.
    public var coding: Coding

    /// How many chunks the stored bytes are cut into; 0 for an empty blob.
    public var chunkCount: Int { ChunkLayout.count(of: storedByteCount) }

    @inline(__always)
    func chunkByteCount(at index: Int) -> Int {
        ChunkLayout.byteCount(at: index, of: storedByteCount)
    }

    /// Where in the stored bytes a chunk is.
    func chunkRange(at index: Int) -> Range<Int> {
        let start = ChunkLayout.start(of: index, in: storedByteCount)
        return start..<start + chunkByteCount(at: index)
    }

    @inline(__always)
    func chunkLocation(of offset: Int) -> (index: Int, start: Int) {
        ChunkLayout.position(of: offset, in: storedByteCount)
    }
}

/// How a blob's bytes are stored: the content codings of RFC 9110, section 8.4.1.
public enum Coding: UInt8, Sendable {
    /// As given.
    case identity = 0
    /// In a gzip container (RFC 1952).
    case gzip = 1

    /// `identity` or `gzip`, as HTTP writes it.
    public var name: String {
        switch self {
        case .identity: "identity"
        case .gzip: "gzip"
        }
    }
}

/// How bytes are coded that are handed in: the content codings of RFC 9110, section 8.4.1.
public enum BodyCoding: Sendable {
    /// As they are.
    case identity
    /// In gzip containers (RFC 1952).
    case gzip
    /// In a zlib container (RFC 1950).
    case deflate
}

/// What a blob is known by, here as for clients.
public typealias Digest = Notifications.Digest
