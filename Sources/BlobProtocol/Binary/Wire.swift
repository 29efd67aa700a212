import Bytes

/// The constants of the binary protocol, version 2. `docs/PROTOCOL.md` describes every layout.
public enum Wire {
    /// The protocol's version, as hello negotiates it.
    public static let version: UInt16 = 2
    /// The first byte of every request frame. No HTTP request can begin with it.
    public static let requestMagic: UInt8 = 0xB1
    /// The first byte of every response frame.
    public static let responseMagic: UInt8 = 0xB2
    /// The size of the header of either frame, in bytes.
    public static let frameHeaderByteCount = 24
    /// The size of a SHA-256 digest, in bytes.
    public static let digestByteCount = 32
    /// The size of a store's id, in bytes.
    public static let storeIDByteCount = 16
    /// The media type of a payload without a given one.
    public static let defaultMediaType: StaticString = "application/octet-stream"
}

/// The dialect of a connection, determined by its first byte.
public enum Dialect: Sendable, Hashable {
    /// Frames of the binary protocol.
    case binary
    /// HTTP/1.1.
    case http
    /// Neither: answer 400 in HTTP, which is readable, and close.
    case unknown

    /// The dialect of a connection whose first byte is `byte`. CR and LF indicate HTTP (RFC 9112, section 2.2).
    public init(firstByte byte: UInt8) {
        switch byte {
        case Wire.requestMagic: self = .binary
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x0D, 0x0A: self = .http
        default: self = .unknown
        }
    }
}

/// How the bytes of a body are coded.
public enum WireCoding: UInt8, Sendable, Hashable, CaseIterable {
    /// As given.
    case identity = 0
    /// A gzip stream (RFC 1952) of the bytes as given.
    case gzip = 1
}

/// The operation of a request.
public enum Opcode: UInt8, Sendable, Hashable, CaseIterable {
    case hello = 1
    case ping = 2
    case put = 3
    case get = 4
    case call = 5

    /// The flags with a meaning for this operation. All others must be zero.
    public var knownFlags: RequestFlags {
        switch self {
        case .put: [.ttlGiven, .expiryGiven, .idAssigned, .bodyIsGzip, .replicated]
        case .get: [.gzipAccepted, .rangeGiven, .headOnly, .digestGiven]
        case .call: [.revisionGiven, .mustBeAbsent, .mustExist, .watch, .bodyIsGzip, .replicated]
        default: []
        }
    }

    /// The most bytes in the body of this operation's requests; nil if that depends.
    public var bodyByteCountMax: UInt64? {
        switch self {
        case .put, .call: nil
        case .ping: UInt64(WireLimits.pingBodyByteCountMax)
        default: 0
        }
    }
}

/// The flags of a request. `Opcode.knownFlags` lists those of each operation.
public struct RequestFlags: OptionSet, Sendable, Hashable {
    /// The bits, as on the wire.
    public let rawValue: UInt16

    /// Creates flags with these bits, known or not.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// put: the lifetime is given in seconds.
    public static let ttlGiven = RequestFlags(rawValue: 1 << 0)
    /// put: the expiry is given as a time.
    public static let expiryGiven = RequestFlags(rawValue: 1 << 1)
    /// put: the daemon chooses the id.
    public static let idAssigned = RequestFlags(rawValue: 1 << 2)

    /// put, call: the body is a gzip coding of what to store.
    public static let bodyIsGzip = RequestFlags(rawValue: 1 << 4)

    /// put, call: acknowledge the change when it is in the bucket, too.
    public static let replicated = RequestFlags(rawValue: 1 << 5)

    /// get: the body may be a gzip stream.
    public static let gzipAccepted = RequestFlags(rawValue: 1 << 0)
    /// get: only a range of the bytes is requested.
    public static let rangeGiven = RequestFlags(rawValue: 1 << 1)
    /// get: the answer's head without its body.
    public static let headOnly = RequestFlags(rawValue: 1 << 2)
    /// get: the payload's digest is given instead of an id.
    public static let digestGiven = RequestFlags(rawValue: 1 << 3)

    /// call: only if the notification has the revision given in the head.
    public static let revisionGiven = RequestFlags(rawValue: 1 << 0)
    /// call: only if the notification does not exist.
    public static let mustBeAbsent = RequestFlags(rawValue: 1 << 1)
    /// call: only if the notification exists.
    public static let mustExist = RequestFlags(rawValue: 1 << 2)
    /// call: answer again whenever there is more (see ``ResponseFrame/continues``).
    public static let watch = RequestFlags(rawValue: 1 << 3)
}

// All heads have a part of fixed size, whose last fields are the lengths of the texts that follow, and nothing after
// the texts.

/// Iterates over the texts after a head's fixed part.
struct HeadTexts {
    private var position: Int

    init(after fixedByteCount: Int) {
        position = fixedByteCount
    }

    mutating func next(_ count: Int) -> Slice {
        defer { position += count }
        return Slice(offset: position, count: count)
    }

    /// Throws `malformed` unless the texts end where the head does. Call it before using any slice.
    func checkEnd(of head: RawSpan, _ operation: Opcode) throws(ProtocolError) {
        try require(
            position == head.byteCount, .malformed,
            "the head of \(operation) is \(head.byteCount) bytes long; the sum of its fields is \(position)"
        )
    }
}

extension RawSpan {
    /// Throws `malformed` if a head is shorter than its fixed part.
    func checkFixedPart(_ byteCount: Int, _ operation: Opcode) throws(ProtocolError) {
        try require(
            self.byteCount >= byteCount, .malformed,
            "the head of \(operation) is \(self.byteCount) bytes long; it must have at least \(byteCount)"
        )
    }

    /// Throws `reserved` unless the bytes from `lower` up to `upper` are zero.
    func checkReserved(
        from lower: Int, upTo upper: Int, _ operation: Opcode
    ) throws(ProtocolError) {
        try require(
            isZero(from: lower, upTo: upper), .reserved,
            "bytes \(lower)…\(upper - 1) of the head of \(operation) must be 0")
    }
}

/// A ping, whose body is returned.
public enum Ping {
    /// Throws `malformed` if it has a head.
    public static func check(_ head: RawSpan) throws(ProtocolError) {
        try require(
            head.byteCount == 0, .malformed,
            "the head of ping is \(head.byteCount) bytes long; it must be empty")
    }
}
