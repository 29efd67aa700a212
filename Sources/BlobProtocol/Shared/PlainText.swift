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
            guard word.isPrintable, !word.has(UInt8(ascii: "/")) else { return false }
            index &+= 8
        }
        // The last eight, of which some may have been looked at.
        let word = Word(self, byteCount &- 8)
        return word.isPrintable && !word.has(UInt8(ascii: "/"))
    }

    /// Whether it is `.` or `..`.
    @inline(__always)
    package var isDotSegment: Bool {
        guard byteCount <= 2, byteCount > 0, byte(0) == UInt8(ascii: ".") else { return false }
        return byteCount == 1 || byte(1) == UInt8(ascii: ".")
    }

    /// How many bytes from `start` on, in steps of eight, may stand in the path of a request
    /// target: visible ASCII, and neither `?` nor `#`.
    @inline(__always)
    func pathByteCount(from start: Int) -> Int {
        var index = start
        while index &+ 8 <= byteCount {
            let word = Word(self, index)
            guard word.isPrintable, !word.has(0x20), !word.has(UInt8(ascii: "?")),
                !word.has(UInt8(ascii: "#"))
            else { break }
            index &+= 8
        }
        return index &- start
    }

    /// Where the segment of a path that begins at `start` ends: at the `/` behind it. Only for one
    /// that stands for itself and needs no second look.
    ///
    /// - Returns: nil when another byte than `&`…`~` comes before the `/`, or a `?`; when there are
    ///   more than `byteCountMax` before it, or none; and within the last seven bytes of the span.
    @inline(__always)
    func plainSegmentEnd(from start: Int, byteCountMax: Int) -> Int? {
        var index = start
        while index &+ 8 <= byteCount, index &- start <= byteCountMax {
            let word = Word(self, index)
            let position = word.position(of: UInt8(ascii: "/"))
            guard position == 8 else {
                let end = index &+ position
                guard end > start, end &- start <= byteCountMax,
                    word.first(position).isPlainSegment
                else { return nil }
                return end
            }
            guard word.isPlainSegment else { return nil }
            index &+= 8
        }
        return nil
    }

    /// Where `byte`, which is ASCII, stands first from `start` on; the end when it does not.
    @inline(__always)
    func index(of byte: UInt8, from start: Int) -> Int {
        var index = start
        while index &+ 8 <= byteCount {
            let position = Word(self, index).position(of: byte)
            if position < 8 { return index &+ position }
            index &+= 8
        }
        while index < byteCount, self.byte(index) != byte { index &+= 1 }
        return index
    }
}

/// Eight bytes.
private struct Word {
    let bits: UInt64

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    private init(bits: UInt64) { self.bits = bits }

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

    /// Whether all eight are `&`…`~`, and none is a `?`: found as ``isPrintable`` finds them.
    @inline(__always)
    var isPlainSegment: Bool {
        (bits | (bits &- 0x26 &* Self.ones) | (bits &+ Self.ones)) & Self.highs == 0
            && !has(UInt8(ascii: "?"))
    }

    /// The first `count` of them, less than eight, and letters behind them.
    @inline(__always)
    func first(_ count: Int) -> Word {
        let kept = (UInt64(1) &<< UInt64(truncatingIfNeeded: 8 &* count)) &- 1
        return Word(bits: bits & kept | 0x61 &* Self.ones & ~kept)
    }

    /// Whether one of them is `byte`.
    @inline(__always)
    func has(_ byte: UInt8) -> Bool { position(of: byte) < 8 }

    /// Which of them is the first that is `byte`; 8 when none is. That one becomes 0, and only behind
    /// a 0 can a byte under 0x80 borrow.
    @inline(__always)
    func position(of byte: UInt8) -> Int {
        let other = bits ^ (UInt64(byte) &* Self.ones)
        return ((other &- Self.ones) & ~other & Self.highs).trailingZeroBitCount / 8
    }
}
