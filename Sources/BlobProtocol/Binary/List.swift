import Bytes
import Notifications

/// Listing notifications in the byte order of their ids, a page at a time. The answer's body is
/// JSON.
public enum List {
    /// What the client says, 8 bytes and a text:
    ///
    ///     OFFSET  SIZE  DESCRIPTION
    ///          0     4  most notifications in the answer, 1…1,000
    ///          4     1  n: bytes in the id; 0: from the start
    ///          5     3  reserved, 0
    ///          8     n  the id after which the page begins
    public struct Request: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 8

        /// The most notifications in the answer, 1…1,000.
        public var limit: Int
        /// The id after which the page begins, or an empty slice for the first page.
        public var after: Slice

        /// Reads a whole head. Throws `bad_query` for a limit out of bounds.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags = []
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(fixedByteCount, .list)
            try head.checkReserved(from: 5, upTo: 8, .list)
            var texts = HeadTexts(after: fixedByteCount)
            let after = texts.next(Int(head.byte(4)))
            try texts.checkEnd(of: head, .list)
            let limit = Int(head.integer(0, as: UInt32.self))
            try check(limit)
            if !after.isEmpty { try TextKind.checkID(after.of(head)) }
            return Request(limit: limit, after: after)
        }

        /// Appends the head; an empty `after`: from the start. Throws before anything is appended.
        public static func compose(
            limit: Int, after: RawSpan, into out: inout [UInt8]
        ) throws(ProtocolError) {
            try check(limit)
            if after.byteCount > 0 { try TextKind.checkID(after) }
            out.append(littleEndian: UInt32(limit))
            out.append(UInt8(after.byteCount))
            out.appendZeros(3)
            out.append(contentsOf: after)
        }

        /// Appends the head; nil `after`: from the start.
        public static func compose(
            limit: Int, after: String? = nil, into out: inout [UInt8]
        ) throws(ProtocolError) {
            let bytes = Array((after ?? "").utf8)
            try compose(limit: limit, after: bytes.span.bytes, into: &out)
        }

        private static func check(_ limit: Int) throws(ProtocolError) {
            let max = WireLimits.listLimitMax
            guard limit >= 1, limit <= max else {
                throw ProtocolError(
                    .badQuery,
                    "the page size is \(limit); it must be 1 to \(max)",
                    limit: max)
            }
        }
    }
}
