// Checks of eight bytes at a time. Nearly all texts are plain ASCII, and checking each byte would take longer than
// looking up what they name.

extension RawSpan {
    /// How many bytes from the start on, in steps of eight, are printable ASCII (0x20…0x7E), which every text may
    /// contain.
    @inlinable
    @inline(__always)
    package var printableByteCount: Int {
        var index = 0
        while index &+ 8 <= byteCount, ByteWord(self, index).isPrintable { index &+= 8 }
        return index
    }

    /// Up to the first byte that JSON escapes.
    @inlinable
    @inline(__always)
    package var plainJSONByteCount: Int {
        var index = 0
        while index &+ 8 <= byteCount,
            ByteWord(self, index).isPrintable(without: UInt8(ascii: "\""), UInt8(ascii: "\\"))
        {
            index &+= 8
        }
        return index
    }

    /// Whether all bytes are printable ASCII that JSON does not escape, as in nearly all texts.
    @inlinable
    @inline(__always)
    package var isPlainJSON: Bool { isPrintable(without: UInt8(ascii: "\""), UInt8(ascii: "\\")) }

    /// Whether all bytes are printable ASCII other than `/`. Names may contain other characters, too; this identifies
    /// those that need no closer look.
    @inlinable
    @inline(__always)
    package var isPlainName: Bool { isPrintable(without: UInt8(ascii: "/"), UInt8(ascii: "/")) }

    /// Whether all bytes are printable ASCII other than two characters.
    @inlinable
    @inline(__always)
    func isPrintable(without first: UInt8, _ second: UInt8) -> Bool {
        guard byteCount >= 8 else {
            for index in 0..<byteCount {
                let byte = byte(index)
                guard byte >= 0x20, byte < 0x7F, byte != first, byte != second else { return false }
            }
            return true
        }
        var index = 0
        while index &+ 8 < byteCount {
            guard ByteWord(self, index).isPrintable(without: first, second) else { return false }
            index &+= 8
        }
        // The last eight, which may overlap those above.
        return ByteWord(self, byteCount &- 8).isPrintable(without: first, second)
    }

    /// Whether the bytes are `.` or `..`.
    @inlinable
    @inline(__always)
    package var isDotSegment: Bool {
        guard byteCount <= 2, byteCount > 0, byte(0) == UInt8(ascii: ".") else { return false }
        return byteCount == 1 || byte(1) == UInt8(ascii: ".")
    }

    /// The position of the first `byte` from `start` on; the end if there is none.
    @inlinable
    @inline(__always)
    package func index(of byte: UInt8, from start: Int = 0) -> Int {
        var index = start
        while index &+ 8 <= byteCount {
            let position = ByteWord(self, index).position(of: byte)
            if position < 8 { return index &+ position }
            index &+= 8
        }
        // The last eight, which overlap those above.
        if byteCount >= 8, index < byteCount {
            let word = ByteWord(self, byteCount &- 8).dropping(index &- (byteCount &- 8))
            return min(index &+ word.position(of: byte), byteCount)
        }
        while index < byteCount, self.byte(index) != byte { index &+= 1 }
        return index
    }
}

/// Eight bytes that are examined at once.
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

    /// Whether all eight are 0x20…0x7E. The highest bit of a byte is set by values above 0x7F, in the difference by
    /// values below 0x20, in the sum by 0x7F. Only a byte that is itself found can cause a borrow or a carry.
    @inlinable
    @inline(__always)
    var isPrintable: Bool {
        (bits | (bits &- 0x20 &* Self.ones) | (bits &+ Self.ones)) & Self.highs == 0
    }

    /// Whether all eight are printable ASCII other than two characters.
    @inlinable
    @inline(__always)
    func isPrintable(without first: UInt8, _ second: UInt8) -> Bool {
        isPrintable && !has(first) && !has(second)
    }

    /// Without the first `count` bytes, fewer than eight; followed by zeros.
    @inlinable
    @inline(__always)
    func dropping(_ count: Int) -> ByteWord {
        ByteWord(bits: bits &>> UInt64(truncatingIfNeeded: 8 &* count))
    }

    @inlinable
    @inline(__always)
    func has(_ byte: UInt8) -> Bool { position(of: byte) < 8 }

    /// The index of the first byte that is `byte`; 8 if there is none. That byte becomes 0, and only after a 0 can
    /// another byte borrow.
    @inlinable
    @inline(__always)
    func position(of byte: UInt8) -> Int {
        let other = bits ^ (UInt64(byte) &* Self.ones)
        return ((other &- Self.ones) & ~other & Self.highs).trailingZeroBitCount / 8
    }
}
