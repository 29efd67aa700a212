// Checks of eight bytes at a time. Nearly all texts are plain ASCII, and looking at each byte of them
// by itself would take longer than finding what they name.

extension RawSpan {
    /// How many bytes from the start on, in steps of eight, are printable ASCII (0x20…0x7E), which
    /// every text may have.
    @inline(__always)
    var printableByteCount: Int {
        var index = 0
        while index &+ 8 <= byteCount, Word(self, index).isPrintable { index &+= 8 }
        return index
    }

    /// Whether all bytes are printable ASCII and none is a `/`. A name may have other characters
    /// too: this only tells those apart that need no second look.
    @inline(__always)
    var isPlainName: Bool {
        guard byteCount >= 8 else {
            for index in 0..<byteCount {
                let byte = byte(index)
                guard byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "/") else { return false }
            }
            return true
        }
        var index = 0
        while index &+ 8 < byteCount {
            let word = Word(self, index)
            guard word.isPrintable, !word.hasSlash else { return false }
            index &+= 8
        }
        // The last eight, of which some may have been looked at.
        let word = Word(self, byteCount &- 8)
        return word.isPrintable && !word.hasSlash
    }
}

/// Eight bytes.
private struct Word {
    let bits: UInt64

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    init(_ span: RawSpan, _ offset: Int) {
        bits = span.integer(offset, as: UInt64.self)
    }

    /// Whether all eight are 0x20…0x7E. The highest bit of a byte is set by what is over 0x7F, in
    /// the difference by what is under 0x20, in the sum by 0x7F; a borrow or a carry comes only
    /// from a byte that is found itself.
    @inline(__always)
    var isPrintable: Bool {
        (bits | (bits &- 0x20 &* Self.ones) | (bits &+ Self.ones)) & Self.highs == 0
    }

    /// Whether one of them is a `/`: that byte becomes 0, and only below a 0 can a byte under 0x80
    /// borrow.
    @inline(__always)
    var hasSlash: Bool {
        let other = bits ^ (UInt64(UInt8(ascii: "/")) &* Self.ones)
        return (other &- Self.ones) & ~other & Self.highs != 0
    }
}
