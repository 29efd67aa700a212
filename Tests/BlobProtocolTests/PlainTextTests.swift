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
}
