import Bytes
import Testing

@testable import BlobProtocol

/// Names are looked at eight bytes at a time: every byte must be found at every place.
@Suite struct PlainNameTests {
    /// Texts of up to 25 letters with one of these bytes at each place, which must be found.
    private func everywhere(
        _ bytes: ClosedRange<UInt8>, isRight: (_ text: [UInt8], _ place: Int, UInt8) -> Bool
    ) {
        for length in 1...25 {
            for place in 0..<length {
                for byte in bytes {
                    var text = [UInt8](repeating: 0x61, count: length)
                    text[place] = byte
                    // Neighbours that lend to a borrow or a carry.
                    if place > 0 { text[place - 1] = place % 2 == 0 ? 0x20 : 0x7E }
                    // An expectation for each would take longer than what is expected.
                    if !isRight(text, place, byte) {
                        Issue.record("\(byte) at \(place) of \(length)")
                    }
                }
            }
        }
    }

    @Test("A byte that is not plain is found wherever it stands")
    func everyByteEverywhere() {
        everywhere(0...255) { text, place, byte in
            let isPrintable = byte >= 0x20 && byte < 0x7F
            let printable = text.span.bytes.printableByteCount
            let whole = text.count / 8 * 8
            return text.span.bytes.isPlainName == (isPrintable && byte != UInt8(ascii: "/"))
                && printable == (isPrintable || place >= whole ? whole : place / 8 * 8)
        }
    }

    @Test("Every byte is escaped in JSON where it has to be, wherever it stands")
    func escapedEverywhere() {
        let escapes: [UInt8: String] = [
            0x22: #"\""#, 0x5C: #"\\"#, 0x08: #"\b"#, 0x09: #"\t"#, 0x0A: #"\n"#, 0x0C: #"\f"#,
            0x0D: #"\r"#,
        ]
        everywhere(0...0x7F) { text, place, byte in
            let control = String(byte, radix: 16)
            let escaped =
                escapes[byte]
                ?? (byte < 0x20
                    ? "\\u" + String(repeating: "0", count: 4 - control.count) + control
                    : String(decoding: [byte], as: UTF8.self))
            let quote = [UInt8(ascii: "\"")]
            var out: [UInt8] = []
            JSONText.append(utf8: text.span.bytes, to: &out)
            return out == quote + text[..<place] + Array(escaped.utf8) + text[(place + 1)...]
                + quote
        }
        var out: [UInt8] = []
        JSONText.append("", to: &out)
        JSONText.append("Grüße \u{1F600} in \"1\" Text, der länger ist", to: &out)
        #expect(
            String(decoding: out, as: UTF8.self)
                == "\"\"\"Grüße \u{1F600} in \\\"1\\\" Text, der länger ist\"")
    }

    @Test("A byte is found where it stands first, whatever stands before and behind it")
    func index() {
        for length in 0...25 {
            for neighbour in [0x00, 0x24, 0x26, 0x80, 0xA5, 0xFF] as [UInt8] {
                var text = [UInt8](repeating: neighbour, count: length)
                #expect(text.span.bytes.index(of: UInt8(ascii: "%"), from: 0) == length)
                for place in (0..<length).reversed() {
                    text[place] = UInt8(ascii: "%")
                    for start in 0...place {
                        let found = text.span.bytes.index(of: UInt8(ascii: "%"), from: start)
                        if found != place { Issue.record("\(place) of \(length), from \(start)") }
                    }
                }
            }
        }
    }

    @Test("A run ends at the first byte that is not of its kind, wherever it stands in the span")
    func runs() {
        for length in Array(0...18) + [24, 31, 32, 33, 40] {
            for start in [0, 1, 15, 16, 17] where start <= length {
                for place in start..<length {
                    // The bounds of every kind, and what lies beside them.
                    for byte in [
                        0x00, 0x08, 0x09, 0x0A, 0x0D, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x24, 0x2C,
                        0x2D, 0x2E, 0x2F, 0x30, 0x39, 0x3A, 0x3F, 0x40, 0x41, 0x5A, 0x5B, 0x5F,
                        0x60, 0x61, 0x7A, 0x7B, 0x7E, 0x7F, 0x80, 0xA0, 0xFF,
                    ] as [UInt8] {
                        var text = [UInt8](repeating: 0x6E, count: length)
                        text[place] = byte
                        let bytes = text.span.bytes
                        let ends = (
                            bytes.tokenEnd(from: start), bytes.fieldContentEnd(from: start),
                            bytes.pathEnd(from: start), bytes.targetEnd(from: start)
                        )
                        let tagEnd = bytes.entityTagEnd(from: start)
                        let isOfTag = byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "\"")
                        let isTarget = byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#")
                        let isPath = isTarget && byte != UInt8(ascii: "?")
                        let isRight =
                            ends.0 == (Token.isToken(byte) ? length : place)
                            && ends.1 == (Token.isFieldContent(byte) ? length : place)
                            && tagEnd == (isOfTag ? length : place)
                            && ends.2 == (isPath ? length : place)
                            && ends.3 == (isTarget ? length : place)
                        if !isRight {
                            Issue.record("\(byte) at \(place) of \(length), from \(start)")
                        }
                    }
                }
            }
        }
    }

    @Test("Only letters are compared without regard to case")
    func cases() {
        for byte in 0...255 as ClosedRange<UInt8> {
            for place in 0..<17 {
                var text = Array("transfer-encoding".utf8)
                let isSame = byte == text[place]
                let isLetter = text[place] != UInt8(ascii: "-")
                let isOther = isLetter && byte == text[place] & ~0x20
                text[place] = byte
                let bytes = text.span.bytes
                let found = (
                    bytes.equals("transfer-encoding"),
                    bytes.equalsIgnoringCase("transfer-encoding")
                )
                #expect(found == (isSame, isSame || isOther), "\(byte) at \(place)")
            }
        }
    }
}
