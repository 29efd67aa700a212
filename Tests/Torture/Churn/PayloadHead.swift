import BlobClient
import BlobProtocol
import Bytes

/// What the head of an answer says of a payload, in either dialect.
struct PayloadHead {
    let status: Int
    /// Bytes of the head, and of the body after it.
    let byteCount: Int
    let bodyByteCount: Int
    /// The position of the first of these in the payload as it was given.
    private(set) var first = 0
    /// Bytes of the whole payload; nil when the head does not say.
    private(set) var payloadByteCount: Int?
    /// The SHA-256 of the whole payload.
    private(set) var digest: PayloadDigest?
    /// Whether the body is a gzip stream.
    private(set) var isGzip = false
    /// Which edition it says to be.
    private(set) var editionNumber: Int?

    /// Reads the head at the start of `bytes`; nil: there is more to come.
    init?(_ bytes: RawSpan, isHTTP: Bool) throws(WrongAnswer) {
        do {
            guard let head = try AnswerHead.parse(bytes) else { return nil }
            guard let count = head.bodyByteCount, (head.frame == nil) == isHTTP else {
                throw WrongAnswer(.wrongBytes, "a head without a length, or of the other dialect")
            }
            (status, byteCount, bodyByteCount) = (head.status, head.byteCount, count)
            if let frame = head.frame {
                guard frame.opcode == Opcode.get.rawValue, status < 400 else { return }
                let fields = bytes.extracting(frame.fields)
                let answer = try Get.Response.parse(fields)
                first = Int(clamping: answer.first)
                payloadByteCount = Int(clamping: answer.byteCount)
                digest = PayloadDigest(bytes: answer.digest.of(fields))
                isGzip = answer.coding == .gzip
                editionNumber = Edition.number(inMediaType: answer.mediaType.of(fields).text())
                return
            }
            isGzip = head.fields["content-encoding"] == "gzip"
            editionNumber = head.fields["content-type"].flatMap { Edition.number(inMediaType: $0) }
            // The entity tag is the digest in quotes, with more behind it for the gzip form.
            digest = head.fields["etag"].flatMap { PayloadDigest($0.dropFirst().prefix(71)) }
            payloadByteCount = status == 200 && !isGzip ? count : nil
            guard let range = head.fields["content-range"] else { return }
            let numbers = range.split { !("0"..."9").contains($0) }.compactMap { Int($0) }
            guard numbers.count == 3 else {
                throw WrongAnswer(.wrongBytes, "Content-Range is \(range)")
            }
            (first, payloadByteCount) = (numbers[0], numbers[2])
        } catch let wrong as WrongAnswer {
            throw wrong
        } catch {
            // What is there instead is mostly another payload's noise.
            let found = Edition.description(ofBlockIn: bytes, from: 0) ?? "no block begins there"
            throw WrongAnswer(.wrongBytes, "\(error); \(found)")
        }
    }
}
