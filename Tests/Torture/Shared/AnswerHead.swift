import BlobJSON
import BlobProtocol
import Bytes
import TestSupport

/// What comes before the bytes of an answer, in either dialect.
struct AnswerHead: Sendable {
    let status: Int
    /// Bytes of the head itself.
    let byteCount: Int
    /// Bytes of the body, as the head says; nil: it does not say.
    let bodyByteCount: Int?
    /// The fields of HTTP, by lower-case names.
    var fields: [String: Substring] = [:]
    /// The operation that a frame answers, and where its fields are; nil: this is HTTP.
    var frame: (opcode: UInt8, fields: Range<Int>)?

    /// As long as a daemon's head of HTTP ever is.
    private static let byteCountMax = 16_384

    /// Reads the head at the start of `bytes`; nil: there is more to come. Throws when it is none.
    static func parse(_ bytes: RawSpan) throws(TestFailure) -> AnswerHead? {
        guard bytes.byteCount > 0 else { return nil }
        return bytes.integer(0, as: UInt8.self) == Wire.responseMagic
            ? try parseFrame(bytes) : try parseHTTP(bytes)
    }

    private static func parseFrame(_ bytes: RawSpan) throws(TestFailure) -> AnswerHead? {
        do {
            guard let frame = try ResponseFrame.parse(bytes) else { return nil }
            let end = Wire.frameHeaderByteCount + Int(frame.headByteCount)
            guard bytes.byteCount >= end else { return nil }
            return AnswerHead(
                status: Int(frame.status), byteCount: end,
                bodyByteCount: Int(clamping: frame.bodyByteCount),
                frame: (frame.opcode, Wire.frameHeaderByteCount..<end))
        } catch {
            throw TestFailure("no frame: \(error)")
        }
    }

    private static func parseHTTP(_ bytes: RawSpan) throws(TestFailure) -> AnswerHead? {
        let limit = min(bytes.byteCount, byteCountMax)
        var end = 0
        while end + 4 <= limit, bytes.integer(end, as: UInt32.self) != 0x0A0D_0A0D { end += 1 }
        guard end + 4 <= limit else {
            let start = bytes.extracting(first: min(limit, 1_000)).text()
            try require(
                limit < byteCountMax && "HTTP/1.1 ".hasPrefix(start.prefix(9)),
                "not a head, or one without an end: \(start)")
            return nil
        }
        let text = bytes.extracting(first: end).text()
        let lines = text.split(separator: "\r\n")
        guard let first = lines.first, first.hasPrefix("HTTP/1.1 "),
            let status = Int(first.dropFirst(9).prefix(3))
        else { throw TestFailure("no head of an answer: \(text.prefix(1_000))") }
        var fields: [String: Substring] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon].lowercased()] = line[line.index(after: colon)...]
                .drop { $0 == " " }
        }
        return AnswerHead(
            status: status, byteCount: end + 4,
            bodyByteCount: fields["content-length"].flatMap { Int($0) }, fields: fields)
    }
}

/// A whole answer.
struct WholeAnswer: Sendable {
    let head: AnswerHead
    let body: [UInt8]
    var status: Int { head.status }
    var text: String { String(decoding: body, as: UTF8.self) }

    /// All answers of which `bytes` consist; nil: the last one is not whole. Throws for whatever is no answer as
    /// `docs/PROTOCOL.md` has it.
    ///
    /// - Parameter toHEAD: whether answers may be those to HEAD, which have no body.
    static func all(in bytes: [UInt8], toHEAD: Bool = false) throws -> [WholeAnswer]? {
        var answers: [WholeAnswer] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let head = try AnswerHead.parse(rest.span.bytes) else { return nil }
            rest = rest.dropFirst(head.byteCount)
            var count = head.bodyByteCount ?? 0
            if head.frame == nil {
                let hasNone = head.status < 200 || [204, 304].contains(head.status)
                try require(
                    head.status == 304 || hasNone == (head.bodyByteCount == nil),
                    "a length where there is no body, or none where there is one: \(head.fields)")
                if hasNone || toHEAD && (rest.isEmpty || rest.starts(with: "HTTP/1.1 ".utf8)) {
                    count = 0
                }
            }
            guard rest.count >= count else { return nil }
            answers.append(WholeAnswer(head: head, body: Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        return answers
    }

    /// The code of an error, which must be a problem document with a code that is documented, and the code's own
    /// status; nil: this is no error.
    func problemCode() throws -> String? {
        guard status >= 400, head.frame != nil || !body.isEmpty else { return nil }
        let document = try? JSONValue.parse(body.span.bytes)
        guard case .string(let name)? = document?["code"], let code = ErrorCode(rawValue: name),
            Int(code.status) == status
        else { throw TestFailure("\(status) with \(text)") }
        return name
    }
}
