import BlobClient
import BlobProtocol
import Bytes
import TestSupport

/// What comes before the bytes of an answer, in either dialect.
struct AnswerHead: Sendable {
    let status: Int
    /// Bytes behind the head.
    let bodyByteCount: Int
    /// The position of the first of them in the payload as it was given.
    var first = 0
    /// Bytes of the whole payload; nil when the head does not say.
    var payloadByteCount: Int?
    /// The SHA-256 of the whole payload.
    var digest: PayloadDigest?
    /// Whether the body is a gzip stream.
    var isGzip = false
    /// Which edition it says to be.
    var editionNumber: Int?

    private init(status: Int, bodyByteCount: Int) {
        self.status = status
        self.bodyByteCount = bodyByteCount
    }

    /// Reads the head at the start of `bytes` and says how long it is; nil when there is more to
    /// come. Throws words when it is no head.
    static func parse(
        _ bytes: RawSpan, isHTTP: Bool
    ) throws(TestFailure) -> (head: AnswerHead, byteCount: Int)? {
        isHTTP ? try parseHTTP(bytes) : try parseFrame(bytes)
    }

    private static func parseFrame(
        _ bytes: RawSpan
    ) throws(TestFailure) -> (head: AnswerHead, byteCount: Int)? {
        do {
            guard let frame = try ResponseFrame.parse(bytes) else { return nil }
            let end = Wire.frameHeaderByteCount + Int(frame.headByteCount)
            guard bytes.byteCount >= end else { return nil }
            var head = AnswerHead(
                status: Int(frame.status), bodyByteCount: Int(clamping: frame.bodyByteCount))
            if frame.operation == .get, frame.status < 400 {
                let fields = bytes.extracting(Wire.frameHeaderByteCount..<end)
                let answer = try Get.Response.parse(fields)
                head.first = Int(clamping: answer.first)
                head.payloadByteCount = Int(clamping: answer.byteCount)
                head.digest = PayloadDigest(bytes: answer.digest.of(fields))
                head.isGzip = answer.coding == .gzip
                head.editionNumber = Edition.number(
                    inMediaType: answer.mediaType.of(fields).text())
            }
            return (head, end)
        } catch let error as FrameError {
            throw TestFailure("no frame: \(error.problem.detail)")
        } catch {
            throw TestFailure("no head of a frame: \(error)")
        }
    }

    private static func parseHTTP(
        _ bytes: RawSpan
    ) throws(TestFailure) -> (head: AnswerHead, byteCount: Int)? {
        let start = bytes.extracting(first: min(bytes.byteCount, 16_384)).text()
        guard "HTTP/1.1 ".hasPrefix(start.prefix(9)) else {
            // What stands there instead is mostly somebody's noise.
            let found = Edition.description(ofBlockIn: bytes, from: 0) ?? "no block begins there"
            throw TestFailure("no head where one was due; \(found)")
        }
        guard let found = HTTPHead(bytes) else {
            try require(bytes.byteCount < HTTPHead.byteCountMax, "no head in 16,384 bytes")
            return nil
        }
        let (status, fields) = (found.status, found.fields)
        guard let length = found.length, length >= 0 else {
            throw TestFailure("a head with status \(status) and without a length")
        }
        var head = AnswerHead(status: status, bodyByteCount: length)
        head.isGzip = fields["content-encoding"] == "gzip"
        head.editionNumber = fields["content-type"].flatMap { Edition.number(inMediaType: $0) }
        // The entity tag is the digest in quotes, with more behind it for the gzip form.
        head.digest = fields["etag"].flatMap { PayloadDigest($0.dropFirst().prefix(71)) }
        head.payloadByteCount = status == 200 && !head.isGzip ? length : nil
        if let range = fields["content-range"] {
            let numbers = range.split { !("0"..."9").contains($0) }.compactMap { Int($0) }
            try require(numbers.count == 3, "Content-Range has \(numbers.count) numbers")
            head.first = numbers[0]
            head.payloadByteCount = numbers[2]
        }
        return (head, found.byteCount)
    }
}

extension ResponseFrame {
    /// The operation that is answered, or nil when it is none.
    fileprivate var operation: Opcode? { Opcode(rawValue: opcode) }
}
