import BlobProtocol
import BlobStore
import Bytes

/// What a fetch was answered, as the head of its answer says.
struct AnsweredFetch {
    var status: UInt16
    /// The digest of the bytes as given.
    var digest: String

    /// Nil where the head is not that of a fetch with bytes.
    init?(_ head: RawSpan) {
        if let frame = try? ResponseFrame.parse(head) {
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
        let lines = head.text().split(separator: "\r\n")
        guard let first = lines.first, first.hasPrefix("HTTP/1."),
            let status = UInt16(first.dropFirst(9).prefix(3)),
            let tag = lines.first(where: { $0.hasPrefix("ETag: ") })
        else { return nil }
        self.status = status
        digest = String(tag.dropFirst(6).filter { $0 != "\"" })
    }
}
