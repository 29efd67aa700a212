import BlobProtocol
import BlobStore
import Bytes

/// What a fetch was answered, as the head of its answer says.
struct AnsweredFetch {
    var status: UInt16
    /// The digest of the bytes as given.
    var digest: String

    /// Nil where the head is not that of a payload.
    ///
    /// - Parameter head: of the answer to a fetch (``BatchedAnswer/isFetch``).
    init?(_ head: RawSpan) {
        guard head.byteCount > 12 else { return nil }
        if head.byte(0) == Wire.responseMagic {
            guard let frame = try? ResponseFrame.parse(head) else { return nil }
            let start = Wire.frameHeaderByteCount
            let isFetch =
                frame.opcode == Opcode.get.rawValue || frame.opcode == Opcode.getBlob.rawValue
            guard isFetch, frame.status < 300, head.byteCount >= start + Wire.digestByteCount,
                let digest = Digest(bytes: head.extracting(start..<start + Wire.digestByteCount))
            else { return nil }
            status = frame.status
            self.digest = digest.description
            return
        }
        // The status behind `HTTP/1.1 `, and the entity tag, which is the digest, between quotation marks.
        guard let tag = Self.entityTag(head) else { return nil }
        let digits = (9..<12).map { UInt16(head.byte($0)) &- 0x30 }
        guard digits.allSatisfy({ $0 < 10 }) else { return nil }
        status = 100 * digits[0] + 10 * digits[1] + digits[2]
        digest = tag
    }

    private static func entityTag(_ head: RawSpan) -> String? {
        let name = UInt64(littleEndian: 0x2220_3A67_6154_450A)  // a line end and `ETag: "`
        var start = 0
        while start + 8 <= head.byteCount, head.word(start) != name { start += 1 }
        start += 8
        var end = start
        while end < head.byteCount, head.byte(end) != UInt8(ascii: "\"") { end += 1 }
        return end < head.byteCount ? head.extracting(start..<end).text() : nil
    }
}
