import Bytes
import TestSupport
import Testing

import BlobProtocol

/// What the daemon writes: response heads, dates, problems.
@Suite struct ResponseHeadTests {
    private func written(_ body: (inout [UInt8]) -> Void) -> String {
        var out: [UInt8] = []
        body(&out)
        return String(decoding: out, as: UTF8.self)
    }

    @Test("A head is written field by field")
    func head() {
        let tag = Array("\"sha\r\nX: y\"".utf8)
        let text = written { out in
            HTTPResponseHead.begin(206, into: &out)
            HTTPResponseHead.field("Content-Length", 10, into: &out)
            HTTPResponseHead.field("Accept-Ranges", "bytes", into: &out)
            HTTPResponseHead.field("ETag", tag.span.bytes, into: &out)
            HTTPResponseHead.date(seconds: 784_111_777, into: &out)
            out += "\r\n".utf8
        }
        #expect(
            Array(text.utf8)
                == crlf(
                    """
                    HTTP/1.1 206 Partial Content
                    Content-Length: 10
                    Accept-Ranges: bytes
                    ETag: "shaX: y"
                    Date: Sun, 06 Nov 1994 08:49:37 GMT


                    """))
    }

    @Test("Every code's status has a prepared line, a title and a name of its own")
    func statuses() {
        var names: Set<String> = []
        for code in ErrorCode.allCases {
            let line = written { HTTPResponseHead.begin(code.status, into: &$0) }
            #expect(line.hasPrefix("HTTP/1.1 \(code.status) ") && line.hasSuffix("\r\n"))
            #expect(line.utf8.count > 15)
            #expect(!code.title.isEmpty)
            names.insert(code.rawValue)
        }
        #expect(names.count == ErrorCode.allCases.count)
        #expect(written { HTTPResponseHead.begin(299, into: &$0) } == "HTTP/1.1 299 \r\n")
    }

    @Test("Problems are JSON, whatever the detail says (RFC 9457, RFC 8259)")
    func problem() {
        let error = ProtocolError(.payloadTooLarge, "a \"b\" \\ \u{1}\n\u{e9}", limit: 64)
        #expect(
            written { Problem.compose(error, into: &$0) }
                == #"{"type":"about:blank","title":"Payload too large","status":413,"#
                + #""code":"payload_too_large","detail":"a \"b\" \\ \u0001\n"# + "\u{e9}"
                + #"","limit":64}"#)
    }

    @Test("Decimal numbers are written and read back")
    func decimals() {
        var values: [UInt64] = [12_345, .max - 1, .max]
        // What each count of digits begins and ends with.
        var power: UInt64 = 1
        for _ in 0..<20 {
            values += [power - 1, power, power + 1]
            power = power > .max / 10 ? power : power * 10
        }
        for value in values {
            var out: [UInt8] = []
            Decimal.append(value, to: &out)
            #expect(String(decoding: out, as: UTF8.self) == "\(value)")
            let parsed = Decimal.parse(out.span.bytes)
            #expect(parsed == .value(value))
        }
    }

    @Test("Hexadecimal digits of every byte, of every length up to three words")
    func hexadecimal() {
        for byteCount in 0...48 {
            for first: UInt8 in [0, 9, 10, 0x9F, 0xA0, 0xF9] {
                let bytes = (0..<byteCount).map { first &+ UInt8($0) &* 11 }
                var out: [UInt8] = []
                Hex.append(bytes.span.bytes, to: &out)
                let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                #expect(String(decoding: out, as: UTF8.self) == digits.joined())
            }
        }
        let all = (0...255).map { UInt8($0) }
        var out: [UInt8] = []
        Hex.append(all.span.bytes, to: &out)
        let digits = all.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        #expect(String(decoding: out, as: UTF8.self) == digits.joined())
    }
}
