import BlobJSON
import BlobProtocol
import TestSupport

/// All that a daemon sent on a connection, taken apart: whole answers of either dialect, and nothing
/// behind the last one.
struct AnswerStream {
    /// An answer: its status, and the error's code where it is a problem document.
    struct Answer: Equatable {
        var status: Int
        var code: String?
    }

    private(set) var answers: [Answer] = []

    /// Throws a ``TestFailure`` for whatever is not a whole answer as `docs/PROTOCOL.md` has it.
    init(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while let first = rest.first {
            if first == Wire.responseMagic {
                answers.append(try Self.frame(&rest))
            } else {
                answers.append(try Self.response(&rest))
            }
        }
    }

    private static func frame(_ rest: inout ArraySlice<UInt8>) throws -> Answer {
        let header = Array(rest.prefix(Wire.frameHeaderByteCount))
        guard let frame = try ResponseFrame.parse(header.span.bytes) else {
            throw TestFailure("half a frame's header: \(header)")
        }
        rest = rest.dropFirst(Wire.frameHeaderByteCount + Int(frame.headByteCount))
        let body = rest.prefix(Int(frame.bodyByteCount))
        guard body.count == Int(frame.bodyByteCount) else {
            throw TestFailure("a frame's body has \(body.count) of \(frame.bodyByteCount) bytes")
        }
        rest = rest.dropFirst(body.count)
        return try answer(Int(frame.status), body)
    }

    private static func response(_ rest: inout ArraySlice<UInt8>) throws -> Answer {
        guard let head = HTTPHead(rest.span.bytes) else {
            throw TestFailure("not a head, or one without an end: \(text(rest.prefix(1_000)))")
        }
        let status = head.status
        rest = rest.dropFirst(head.byteCount)
        if status < 200 || status == 204 || status == 304 {
            guard status == 304 || head.length == nil else {
                throw TestFailure("a length where there is no body: \(head.fields)")
            }
            return Answer(status: status, code: nil)
        }
        guard let count = head.length else {
            throw TestFailure("no length: \(head.fields)")
        }
        // An answer to HEAD has no body.
        if rest.isEmpty || rest.starts(with: "HTTP/1.1 ".utf8) {
            return Answer(status: status, code: nil)
        }
        let body = rest.prefix(count)
        guard body.count == count else {
            throw TestFailure("a body has \(body.count) of \(count) bytes: \(head.fields)")
        }
        rest = rest.dropFirst(count)
        return try answer(status, body)
    }

    /// An error is a problem document with a code that is documented, and the code's own status.
    private static func answer(_ status: Int, _ body: ArraySlice<UInt8>) throws -> Answer {
        guard status >= 400 else { return Answer(status: status, code: nil) }
        let document = try? JSONValue.parse(Array(body).span.bytes)
        guard case .string(let name)? = document?["code"], let code = ErrorCode(rawValue: name),
            Int(code.status) == status
        else { throw TestFailure("\(status) with \(text(body))") }
        return Answer(status: status, code: name)
    }

    private static func text(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
