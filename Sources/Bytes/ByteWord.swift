// Checks of eight bytes at a time. Nearly all texts are plain ASCII, and looking at each byte of them
// by itself would take longer than finding what they name.

extension RawSpan {
    /// How many bytes from the start on, in steps of eight, are printable ASCII (0x20…0x7E), which
    /// every text may have.
    @inlinable
    @inline(__always)
    package var printableByteCount: Int {
        var index = 0
        while index &+ 8 <= byteCount, ByteWord(self, index).isPrintable { index &+= 8 }
        return index
    }

    /// Up to what JSON escapes in a text.
    @inlinable
    @inline(__always)
    package var plainJSONByteCount: Int {
        var index = 0
        while index &+ 8 <= byteCount {
            let word = ByteWord(self, index)
            guard word.isPrintable, !word.has(UInt8(ascii: "\"")),
                !word.has(UInt8(ascii: "\\"))
            else { break }
            index &+= 8
        }
        return index
    }

    /// Whether all bytes are printable ASCII and none is a `/`. A name may have other characters
    /// too: this only tells those apart that need no second look.
    @inlinable
    @inline(__always)
    package var isPlainName: Bool {
        guard byteCount >= 8 else {
            for index in 0..<byteCount {
                let byte = byte(index)
                guard byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "/") else { return false }
            }
            return true
        }
        var index = 0
        while index &+ 8 < byteCount {
            let word = ByteWord(self, index)
            guard word.isPrintable, !word.has(UInt8(ascii: "/")) else { return false }
            index &+= 8
        }
        // The last eight, of which some may have been looked at.
        let word = ByteWord(self, byteCount &- 8)
        return word.isPrintable && !word.has(UInt8(ascii: "/"))
    }

    /// Whether it is `.` or `..`.
    @inlinable
    @inline(__always)
    package var isDotSegment: Bool {
        guard byteCount <= 2, byteCount > 0, byte(0) == UInt8(ascii: ".") else { return false }
        return byteCount == 1 || byte(1) == UInt8(ascii: ".")
    }

    /// Where `byte` stands first from `start` on; the end when it does not.
    @inlinable
    @inline(__always)
    package func index(of byte: UInt8, from start: Int = 0) -> Int {
        var index = start
        while index &+ 8 <= byteCount {
            let position = ByteWord(self, index).position(of: byte)
            if position < 8 { return index &+ position }
            index &+= 8
        }
        // The last eight, of which some have been looked at.
        if byteCount >= 8, index < byteCount {
            let word = ByteWord(self, byteCount &- 8).dropping(index &- (byteCount &- 8))
            return min(index &+ word.position(of: byte), byteCount)
        }
        while index < byteCount, self.byte(index) != byte { index &+= 1 }
        return index
    }
}

/// Eight bytes, of which questions are answered all at once.
@frozen @usableFromInline
package struct ByteWord {
    @usableFromInline let bits: UInt64

    @inlinable static var ones: UInt64 { 0x0101_0101_0101_0101 }
    @inlinable static var highs: UInt64 { 0x8080_8080_8080_8080 }

    @inlinable
    @inline(__always)
    init(bits: UInt64) { self.bits = bits }

    @inlinable
    @inline(__always)
    init(_ span: RawSpan, _ offset: Int) {
        bits = span.integer(offset, as: UInt64.self)
    }

    /// Whether all eight are 0x20…0x7E. The highest bit of a byte is set by what is over 0x7F, in
    /// the difference by what is under 0x20, in the sum by 0x7F; a borrow or a carry comes only
    /// from a byte that is found itself.
    @inlinable
    @inline(__always)
    var isPrintable: Bool {
        (bits | (bits &- 0x20 &* Self.ones) | (bits &+ Self.ones)) & Self.highs == 0
    }

    /// Without the first `count`, less than eight; zeros after the others.
    @inlinable
    @inline(__always)
    func dropping(_ count: Int) -> ByteWord {
        ByteWord(bits: bits &>> UInt64(truncatingIfNeeded: 8 &* count))
    }

    @inlinable
    @inline(__always)
    func has(_ byte: UInt8) -> Bool { position(of: byte) < 8 }

    /// Which of them is the first that is `byte`; 8 when none is. That one becomes 0, and only after
    /// a 0 can another byte borrow.
    @inlinable
    @inline(__always)
    func position(of byte: UInt8) -> Int {
        let other = bits ^ (UInt64(byte) &* Self.ones)
        return ((other &- Self.ones) & ~other & Self.highs).trailingZeroBitCount / 8
    }
}
