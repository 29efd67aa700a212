import Bytes
import Notifications

/// Fetching a payload by its notification's id, or by its digest.
public enum Get {
    /// The client's request (`docs/PROTOCOL.md`).
    public struct Request: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 24

        /// The requested range; nil: everything.
        public var range: WireRange?
        /// The notification's id, or the digest: 32 bytes.
        public var id: Slice
        /// The part's name, or an empty slice for `payload`.
        public var part: Slice

        /// Reads a whole head and checks its texts.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(fixedByteCount, .get)
            // The sizes of the texts, followed by reserved bytes.
            let sizes = head.integer(16, as: UInt64.self)
            if sizes >> 16 != 0 { try head.checkReserved(from: 18, upTo: 24, .get) }
            var texts = HeadTexts(after: fixedByteCount)
            let request = Request(
                range: try WireRange.parse(head, flags: flags),
                id: texts.next(Int(sizes & 0xFF)),
                part: texts.next(Int(sizes >> 8 & 0xFF)))
            try texts.checkEnd(of: head, .get)
            guard !flags.contains(.digestGiven) else {
                try check(digest: request.id.of(head))
                try require(request.part.isEmpty, .badPart, "a digest names no part")
                return request
            }
            try TextKind.checkID(request.id.of(head))
            if !request.part.isEmpty { try TextKind.part.check(request.part.of(head)) }
            return request
        }

        /// Appends a head. Throws before anything is appended.
        public static func compose(
            id: String, part: String? = nil, range: WireRange? = nil, into out: inout [UInt8]
        ) throws(ProtocolError) {
            let part = part ?? ""
            try TextKind.checkID(id.utf8.span.bytes)
            if !part.isEmpty { try TextKind.part.check(part.utf8.span.bytes) }
            try append(id.utf8.span.bytes, part.utf8.span.bytes, range, to: &out)
        }

        /// Appends a head with a digest. Throws `bad_digest` unless it is 32 bytes, before anything is appended.
        public static func compose(
            digest: RawSpan, range: WireRange? = nil, into out: inout [UInt8]
        ) throws(ProtocolError) {
            try check(digest: digest)
            try append(digest, RawSpan(), range, to: &out)
        }

        private static func append(
            _ id: RawSpan, _ part: RawSpan, _ range: WireRange?, to out: inout [UInt8]
        ) throws(ProtocolError) {
            try WireRange.compose(range, into: &out)
            out.append(UInt8(id.byteCount))
            out.append(UInt8(part.byteCount))
            out.appendZeros(6)
            out.append(contentsOf: id)
            out.append(contentsOf: part)
        }

        private static func check(digest: RawSpan) throws(ProtocolError) {
            try require(
                digest.byteCount == Wire.digestByteCount, .badDigest,
                "the digest is \(digest.byteCount) bytes long; it must be 32")
        }
    }

    /// The flags for the frame's header.
    public static func flags(
        acceptsGzip: Bool = false, range: WireRange? = nil, isHeadOnly: Bool = false,
        isByDigest: Bool = false
    ) -> RequestFlags {
        var flags: RequestFlags = isByDigest ? .digestGiven : []
        if acceptsGzip { flags.insert(.gzipAccepted) }
        if range != nil { flags.insert(.rangeGiven) }
        if isHeadOnly { flags.insert(.headOnly) }
        return flags
    }
}

extension WireRange {
    /// The binary protocol's number for "to the end".
    public static let toTheEnd = UInt64.max

    /// Reads the range at the start of a head of get; nil if none is requested.
    public static func parse(
        _ head: RawSpan, flags: RequestFlags
    ) throws(ProtocolError) -> WireRange? {
        guard flags.contains(.rangeGiven) else {
            if head.integer(0, as: UInt64.self) | head.integer(8, as: UInt64.self) != 0 {
                try head.checkReserved(from: 0, upTo: 16, .get)
            }
            return nil
        }
        let count = head.integer(8, as: UInt64.self)
        guard count > 0 else { throw noBytes }
        return .from(head.integer(0, as: UInt64.self), count: count == toTheEnd ? nil : count)
    }

    static func compose(_ range: WireRange?, into out: inout [UInt8]) throws(ProtocolError) {
        var (first, count): (UInt64, UInt64) = (0, 0)
        switch range {
        case .from(let position, let length):
            (first, count) = (position, length ?? toTheEnd)
            guard count > 0 else { throw noBytes }
        case .suffix:
            throw ProtocolError(.malformed, "the binary protocol does not support suffix ranges")
        case nil: break
        }
        out.append(littleEndian: first)
        out.append(littleEndian: count)
    }

    private static var noBytes: ProtocolError {
        ProtocolError(.malformed, "the range has 0 bytes; the minimum is 1")
    }
}

/// A plain `get` of a whole payload by its notification's id, recognised by comparing words. All other forms, and all
/// errors but one, are left to ``RequestFrame`` and ``Get/Request``. The exception: the id is not checked, because an
/// invalid one names no notification.
public struct PlainGet: Sendable, Hashable {
    /// The client's number for the request.
    public let requestID: UInt32
    /// Whether the body may be a gzip stream.
    public let acceptsGzip: Bool
    /// The position of the id, which ends with the frame.
    public let id: Slice

    /// The size of the frame, in bytes.
    public var byteCount: Int {
        @inline(__always)
        get { Self.idStart &+ id.count }
    }

    /// Examines the start of `bytes`; nil for anything else, and if the frame is incomplete.
    @inline(__always)
    public init?(_ bytes: RawSpan) {
        guard bytes.byteCount > Self.idStart else { return nil }
        let opening = bytes.integer(0, as: UInt64.self)
        let head = bytes.integer(8, as: UInt64.self)
        // The size of the id. Any other text, or a reserved byte that is not 0, makes it large.
        let idByteCount = bytes.integer(40, as: UInt64.self)
        // The flag for gzip is the lowest bit.
        guard (opening & 0xFFFF_FFFF) & ~Self.gzipFlag == Self.opening,
            idByteCount &- 1 < 255, head == idByteCount &+ UInt64(Get.Request.fixedByteCount),
            bytes.byteCount &- Self.idStart >= Int(truncatingIfNeeded: idByteCount),
            // No body and no range.
            bytes.integer(16, as: UInt64.self) | bytes.integer(24, as: UInt64.self)
                | bytes.integer(32, as: UInt64.self) == 0
        else { return nil }
        requestID = UInt32(truncatingIfNeeded: opening >> 32)
        acceptsGzip = opening & Self.gzipFlag != 0
        id = Slice(offset: Self.idStart, count: Int(truncatingIfNeeded: idByteCount))
    }

    private static let idStart = Wire.frameHeaderByteCount + Get.Request.fixedByteCount
    private static let opening =
        UInt64(Wire.requestMagic) | UInt64(Opcode.get.rawValue) << 8
    private static let gzipFlag = UInt64(RequestFlags.gzipAccepted.rawValue) << 16
}
