import Bytes
import Notifications

/// Asking about a notification (stat) and removing one (delete), whose requests look alike. The
/// answer to stat has the record as JSON for its body; that to delete is empty.
public enum Stat {
    /// What the client says, 8 bytes and a text:
    ///
    ///     OFFSET  SIZE  DESCRIPTION
    ///          0     1  n: bytes in the id
    ///          1     7  reserved, 0
    ///          8     n  id
    public struct Request: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 8

        /// The notification's id.
        public var id: Slice

        /// Reads a whole head of `operation`, which is stat or delete.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags = [], of operation: Opcode = .stat
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(fixedByteCount, operation)
            try head.checkReserved(from: 1, upTo: 8, operation)
            var texts = HeadTexts(after: fixedByteCount)
            let request = Request(id: texts.next(Int(head.byte(0))))
            try texts.checkEnd(of: head, operation)
            try TextKind.checkID(request.id.of(head))
            return request
        }

        /// Appends the head. Throws `bad_id` before anything is appended.
        public static func compose(id: RawSpan, into out: inout [UInt8]) throws(ProtocolError) {
            try TextKind.checkID(id)
            out.append(UInt8(id.byteCount))
            out.appendZeros(7)
            out.append(contentsOf: id)
        }

        /// Appends the head.
        public static func compose(id: String, into out: inout [UInt8]) throws(ProtocolError) {
            let bytes = Array(id.utf8)
            try compose(id: bytes.span.bytes, into: &out)
        }
    }
}
