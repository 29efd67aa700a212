import Testing

@testable import BlobProtocol

/// Names are looked at eight bytes at a time: every byte must be found at every place.
@Suite struct PlainNameTests {
    @Test("A byte that is not plain is found wherever it stands")
    func everyByteEverywhere() {
        for length in 1...25 {
            for place in 0..<length {
                for byte in 0...255 as ClosedRange<UInt8> {
                    var name = [UInt8](repeating: 0x61, count: length)
                    name[place] = byte
                    // Neighbours that lend to a borrow or a carry.
                    if place > 0 { name[place - 1] = place % 2 == 0 ? 0x20 : 0x7E }
                    let isPlain = byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "/")
                    #expect(name.span.bytes.isPlainName == isPlain)
                    let printable = name.span.bytes.printableByteCount
                    let isPrintable = byte >= 0x20 && byte < 0x7F
                    let whole = length / 8 * 8
                    #expect(printable == (isPrintable || place >= whole ? whole : place / 8 * 8))
                }
            }
        }
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
                        #expect(found == place)
                    }
                }
            }
        }
    }

    @Test("A path ends in the eight bytes with the first byte that may not be in one")
    func path() {
        for length in 0...25 {
            for place in 0..<length {
                for byte in 0...255 as ClosedRange<UInt8> {
                    var text = [UInt8](repeating: 0x7E, count: length)
                    text[place] = byte
                    let isPath =
                        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "?")
                        && byte != UInt8(ascii: "#")
                    let whole = length / 8 * 8
                    let count = text.span.bytes.pathByteCount(from: 0)
                    #expect(count == (isPath || place >= whole ? whole : place / 8 * 8))
                }
            }
        }
    }
}
