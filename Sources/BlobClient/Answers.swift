import BlobProtocol
import Bytes
import Hashing
@_exported public import Notifications

/// What the daemon says about itself in its hello.
public struct DaemonInfo: Sendable, Hashable {
    /// The version of the protocol.
    public let protocolVersion: Int
    /// The daemon's version.
    public let serverVersion: String
    /// The store's id, 32 hexadecimal digits.
    public let storeID: String
    /// The maximum size of a payload, in bytes.
    public let payloadByteCountMax: UInt64
    /// The maximum number of unanswered requests on a connection.
    public let requestsInFlightMax: Int
    /// The default lifetime, in seconds.
    public let defaultTTLSeconds: UInt64
    /// The longest lifetime, in seconds.
    public let ttlSecondsMax: UInt64

    init(_ response: Hello.Response, head: RawSpan) {
        protocolVersion = Int(response.version)
        serverVersion = response.serverVersion.of(head).text()
        var digits: [UInt8] = []
        Hex.append(response.storeID.of(head), to: &digits)
        storeID = String(decoding: digits, as: UTF8.self)
        payloadByteCountMax = response.payloadByteCountMax
        // One request is always possible.
        requestsInFlightMax = max(1, Int(clamping: response.requestsInFlightMax))
        defaultTTLSeconds = response.defaultTTLSeconds
        ttlSecondsMax = response.ttlSecondsMax
    }

    init() {
        self.init(
            Hello.Response(payloadByteCountMax: 0, defaultTTLSeconds: 0, ttlSecondsMax: 0),
            head: RawSpan())
    }
}

/// The result of a put, which is on the daemon's disk.
public struct PutReceipt: Sendable, Hashable {
    /// The notification's id.
    public let id: String
    /// Whether the part is new (201); false if it replaced one (200).
    public let isCreated: Bool
    /// The SHA-256 of the bytes as given.
    public let digest: PayloadDigest
    /// The number of bytes given.
    public let byteCount: UInt64
    /// The number of bytes they take in the store, where several notifications may share them.
    public let storedByteCount: UInt64
    /// Whether they are stored compressed.
    public let isCompressed: Bool
    /// When the notification expires, in milliseconds since 1970.
    public let expiryMilliseconds: Int64
    /// The store's revision of the put.
    public let revision: UInt64

    init(_ response: Put.Response, head: RawSpan, status: UInt16) {
        id = response.id.of(head).text()
        isCreated = status == 201
        digest = digestField(response.digest.of(head))
        byteCount = response.byteCount
        storedByteCount = response.storedByteCount
        isCompressed = response.coding == .gzip
        expiryMilliseconds = response.expiryMilliseconds
        revision = response.revision
    }
}

/// The head of the answer to a get.
public struct PayloadInfo: Sendable, Hashable {
    /// The SHA-256 of all bytes as given.
    public let digest: PayloadDigest
    /// The number of bytes of the whole payload as given.
    public let byteCount: UInt64
    /// The position of the first byte that follows: 0 unless a range was requested.
    public let first: UInt64
    /// The media type as it was put; `application/octet-stream` for a blob fetched by digest.
    public let mediaType: String
    /// When it expires, in milliseconds since 1970.
    public let expiryMilliseconds: Int64
    /// When it was created, in milliseconds since 1970; 0 for a blob fetched by digest.
    public let createdMilliseconds: Int64
    /// The store's revision of the put; 0 for a blob fetched by digest.
    public let revision: UInt64
    /// Whether the bytes were transferred compressed. The caller gets them decompressed.
    public let isCompressed: Bool

    init(_ response: Get.Response, head: RawSpan) {
        digest = digestField(response.digest.of(head))
        byteCount = response.byteCount
        first = response.first
        mediaType = response.mediaType.of(head).text()
        expiryMilliseconds = response.expiryMilliseconds
        createdMilliseconds = response.createdMilliseconds
        revision = response.revision
        isCompressed = response.coding == .gzip
    }
}

/// A payload in memory.
public struct FetchedPayload: Sendable, Hashable {
    /// The head of the answer.
    public let info: PayloadInfo
    /// The requested bytes, as given.
    public let bytes: [UInt8]
}

/// The answer to one of several pipelined requests.
public struct Answer: Sendable {
    /// The number that queueing the request returned.
    public let requestID: UInt32
    /// The outcome of the request.
    public let outcome: Outcome
    /// Whether another answer to the request will follow.
    public let continues: Bool

    /// The outcome of a request.
    public enum Outcome: Sendable {
        /// A ping: the store can commit.
        case done
        /// A put succeeded and is on disk.
        case stored(PutReceipt)
        /// A get succeeded; the sink has the bytes.
        case payload(PayloadInfo)
        /// A call succeeded; `DaemonCall.read` reads its answer.
        case called(CallAnswer)
        /// This request failed. The connection remains usable.
        case failed(ClientError)
    }
}

/// The answer to a call.
public struct CallAnswer: Sendable, Hashable {
    /// The HTTP status, below 400.
    public let status: Int
    /// The notification's revision; nil if the answer concerns none.
    public let revision: UInt64?
    /// The body's media type; empty if there is no body.
    public let mediaType: String
    /// The path of the created resource, or nil.
    public let location: String?
    /// The document.
    public let body: [UInt8]

    init(_ response: Call.Response, head: RawSpan, status: UInt16, _ body: [UInt8]) {
        self.status = Int(status)
        revision = response.revision == 0 ? nil : response.revision
        mediaType = response.mediaType.of(head).text()
        location = response.location.isEmpty ? nil : response.location.of(head).text()
        self.body = body
    }
}

private func digestField(_ bytes: RawSpan) -> PayloadDigest {
    guard let digest = PayloadDigest(bytes: bytes) else {
        preconditionFailure("a parsed head holds a digest of 32 bytes")
    }
    return digest
}

/// The SHA-256 of a payload's bytes as given: the name of a blob.
public typealias PayloadDigest = Digest

extension Digest {
    /// The digest of these bytes.
    public init(of bytes: RawSpan) { self.init(SHA256.digest(of: bytes)) }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }
}
