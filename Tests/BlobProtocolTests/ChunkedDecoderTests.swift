import TestSupport
import Testing

import BlobProtocol

/// Bodies in chunks (RFC 9112, section 7.1).
@Suite struct ChunkedDecoderTests {
    /// What came of a body.
    struct Outcome: Equatable {
        var payload = ""
        var rest = 0
        var isComplete = false
        var code: ErrorCode?
    }

    static func decode(_ bytes: [UInt8]) -> Outcome {
        inEveryWay(bytes) { pieces in
            var outcome = Outcome(rest: bytes.count)
            var decoder = ChunkedDecoder()
            var payload: [UInt8] = []
            for piece in pieces {
                var index = 0
                while index < piece.count, !outcome.isComplete, outcome.code == nil {
                    let rest = Array(piece[index...])
                    outcome.code = code { () throws(ProtocolError) in
                        let found = try decoder.next(rest.span.bytes)
                        payload += rest[found.payload.offset..<found.payload.end]
                        index += found.consumed
                        outcome.rest -= found.consumed
                        outcome.isComplete = found.isComplete
                    }
                }
            }
            outcome.payload = String(decoding: payload, as: UTF8.self)
            if outcome.code != nil { outcome.rest = 0 }
            return outcome
        }
    }

    @Test(
        "The same payload however it is cut",
        arguments: [
            ("0\n\n", ""), ("5\nhello\n0\n\n", "hello"), ("005\nhello\n1\n!\n000\n\n", "hello!"),
            ("a;x=y\n0123456789\n0;z\n\n", "0123456789"), ("1 \t;q=\"a;b\"\nx\n0\n\n", "x"),
            ("1\nx\n0\nTrailer: a\nOther: b\n\n", "x"), ("0\nT:\nU:a:b \t\n\n", ""),
            ("A\n0123456789\n0\n\n", "0123456789"),
        ])
    func pieces(body: String, payload: String) {
        let bytes = crlf(body) + Array("GET".utf8)
        let expected = Outcome(payload: payload, rest: 3, isComplete: true)
        #expect(Self.decode(bytes) == expected)
        for count in 0..<(bytes.count - 3) {
            let outcome = Self.decode(Array(bytes[..<count]))
            #expect(!outcome.isComplete && outcome.code == nil)
        }
    }

    @Test("The largest chunk that 64 bits can count is taken")
    func largest() {
        let outcome = Self.decode(crlf("ffffffffffffffff\nabc"))
        #expect(outcome.code == nil)
        #expect(outcome.payload == "abc")
    }

    @Test("A size is known as soon as its digits are, and only grows")
    func announced() throws {
        let bytes = crlf("1f;x\n")
        var decoder = ChunkedDecoder()
        var seen: [UInt64] = []
        for byte in bytes {
            let piece = [byte]
            _ = try decoder.next(piece.span.bytes)
            seen.append(decoder.announcedByteCount)
        }
        #expect(seen == [1, 31, 31, 31, 31, 31])
        let data = [UInt8](repeating: 0, count: 30)
        _ = try decoder.next(data.span.bytes)
        #expect(decoder.announcedByteCount == 1)
        let last = Array("x".utf8)
        _ = try decoder.next(last.span.bytes)
        #expect(decoder.announcedByteCount == 0)
        let end = Array("\r\n0\r\n".utf8)
        _ = try decoder.next(end.span.bytes)
        #expect(decoder.announcedByteCount == 0)
    }

    // What another program takes for the end would begin another request.
    @Test(
        "A chunk ends with CR LF, and with nothing else",
        arguments: ["\n\n", "\n\r", "\r\r", "b\r\n"])
    func ends(end: String) {
        #expect(Self.decode(Array("1\r\na\(end)0\r\n\r\n".utf8)).code == .malformed)
    }

    @Test("A chunk's line and the trailers have limits")
    func limits() {
        let fits = String(repeating: "x", count: WireLimits.chunkLineByteCountMax - 2)
        #expect(Self.decode(crlf("1;\(fits)\na\n0\n\n")).isComplete)
        #expect(Self.decode(crlf("1;\(fits)x\na\n0\n\n")).code == .malformed)
        let trailer = String(repeating: "x", count: WireLimits.trailerSectionByteCountMax - 5)
        #expect(Self.decode(crlf("0\nT: \(trailer)\n\n")).isComplete)
        #expect(Self.decode(crlf("0\nT: \(trailer)x\n\n")).code == .headersTooLarge)
    }
}
