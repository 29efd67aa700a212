import Bytes
import Notifications

extension Put {
    /// What the daemon answers (201 for a new part, 200 for a replaced one), 72 bytes and the id:
    ///
    ///     OFFSET  SIZE  DESCRIPTION
    ///          0    32  SHA-256 of the bytes as given
    ///         32     8  bytes as given
    ///         40     8  bytes as stored
    ///         48     8  expiry in milliseconds since 1970, signed
    ///         56     8  revision
    ///         64     1  coding as stored: 0 identity, 1 gzip
    ///         65     1  n: bytes in the id
    ///         66     6  reserved, 0
    ///         72     n  id
    public struct Response: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 72

        /// How many bytes the whole payload has as given.
        public var byteCount: UInt64
        /// How many bytes it takes as stored.
        public var storedByteCount: UInt64
        /// When it expires, in milliseconds since 1970.
        public var expiryMilliseconds: Int64
        /// The revision of the store at which it was put; 0 for getBlob.
        public var revision: UInt64
        /// How the bytes are coded.
        public var coding: WireCoding
        /// Where the digest lies in the head that was parsed.
        public var digest: Slice = Slice(offset: 0, count: Wire.digestByteCount)
        /// Where the id lies in the head that was parsed.
        public var id: Slice = .empty

        /// An answer, whose digest and id are given to `compose`.
        public init(
            byteCount: UInt64, storedByteCount: UInt64, expiryMilliseconds: Int64, revision: UInt64,
            coding: WireCoding
        ) {
            self.byteCount = byteCount
            self.storedByteCount = storedByteCount
            self.expiryMilliseconds = expiryMilliseconds
            self.revision = revision
            self.coding = coding
        }

        /// Reads a whole head.
        public static func parse(_ head: RawSpan) throws(ProtocolError) -> Response {
            try head.checkFixedPart(fixedByteCount, .put)
            try head.checkReserved(from: 66, upTo: 72, .put)
            guard let coding = WireCoding(rawValue: head.byte(64)) else {
                throw ProtocolError(.malformed, "unknown coding \(head.byte(64))")
            }
            var response = Response(
                byteCount: head.integer(32, as: UInt64.self),
                storedByteCount: head.integer(40, as: UInt64.self),
                expiryMilliseconds: head.integer(48, as: Int64.self),
                revision: head.integer(56, as: UInt64.self),
                coding: coding)
            var texts = HeadTexts(after: fixedByteCount)
            response.id = texts.next(Int(head.byte(65)))
            try texts.checkEnd(of: head, .put)
            try TextKind.checkID(response.id.of(head))
            return response
        }

        /// Appends the head. The digest must be 32 bytes and the id at most 255, as every checked
        /// one is.
        public func compose(digest: RawSpan, id: RawSpan, into out: inout [UInt8]) {
            precondition(digest.byteCount == Wire.digestByteCount)
            precondition(id.byteCount <= WireLimits.idByteCountMax)
            out.append(contentsOf: digest)
            out.append(littleEndian: byteCount)
            out.append(littleEndian: storedByteCount)
            out.append(littleEndian: expiryMilliseconds)
            out.append(littleEndian: revision)
            out.append(coding.rawValue)
            out.append(UInt8(id.byteCount))
            out.appendZeros(6)
            out.append(contentsOf: id)
        }
    }
}
