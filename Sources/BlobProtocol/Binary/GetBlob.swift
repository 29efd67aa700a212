import Bytes

/// Fetching a payload by its digest. The flags are get's, and so is the answer (`Get.Response`,
/// with revision and creation time 0 and the media type `application/octet-stream`).
public enum GetBlob {
    /// What the client says, 48 bytes:
    ///
    ///     OFFSET  SIZE  DESCRIPTION
    ///          0     8  position of the first byte wanted; 0 without a range
    ///          8     8  bytes wanted, at least 1; 2^64-1: to the end; 0 without a range
    ///         16    32  SHA-256 of the bytes as given
    public struct Request: Sendable, Hashable {
        /// The size of the head, in bytes.
        public static let byteCount = 48

        /// The range wanted, or nil for everything.
        public var range: WireRange?
        /// Whether the body may be a gzip stream.
        public var acceptsGzip: Bool
        /// Whether the answer's head is wanted without its body.
        public var isHeadOnly: Bool
        /// Where the digest lies in the head.
        public var digest: Slice { Slice(offset: 16, count: Wire.digestByteCount) }

        /// Reads a whole head.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(byteCount, .getBlob)
            try HeadTexts(after: byteCount).checkEnd(of: head, .getBlob)
            return Request(
                range: try WireRange.parse(head, flags: flags, .getBlob),
                acceptsGzip: flags.contains(.gzipAccepted),
                isHeadOnly: flags.contains(.headOnly))
        }

        /// Appends a head that asks for `range` of the blob with this digest. Throws `bad_digest`
        /// unless the digest is 32 bytes, before anything is appended.
        public static func compose(
            digest: RawSpan, range: WireRange? = nil, into out: inout [UInt8]
        ) throws(ProtocolError) {
            guard digest.byteCount == Wire.digestByteCount else {
                throw ProtocolError(
                    .badDigest, "the digest is \(digest.byteCount) bytes long; it must be 32")
            }
            try WireRange.compose(range, into: &out)
            out.append(contentsOf: digest)
        }
    }
}
