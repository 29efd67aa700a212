import Bytes

// Finding where a run of bytes of one kind ends (`RawSpan.end(from:_:)`): fields and targets.

extension RawSpan {
    /// Where the bytes from `start` on that may stand in a field's value end: see
    /// ``Token/isFieldContent(_:)``.
    func fieldContentEnd(from start: Int) -> Int {
        var index = plainContentEnd(from: start)
        while index < byteCount, Token.isFieldContent(uncheckedByte(index)) { index &+= 1 }
        return index
    }

    /// The same without tabs; `start` in less than sixteen bytes.
    @inline(__always)
    func plainContentEnd(from start: Int) -> Int {
        end(from: start) { bytes in ~bytes & (~(bytes &+ 0x60) | (bytes &+ 1)) }
    }

    /// Where the bytes from `start` on that may stand between the quotes of an entity tag end (RFC
    /// 9110, section 8.8.3).
    func entityTagEnd(from start: Int) -> Int {
        var index = end(from: start) { bytes in
            (~bytes & (~(bytes &+ 0x5F) | (bytes &+ 1))) | ~((bytes ^ 0x22) &+ 0x7F | bytes)
        }
        while index < byteCount {
            let byte = uncheckedByte(index)
            guard byte > 0x20, byte != 0x7F, byte != UInt8(ascii: "\"") else { break }
            index &+= 1
        }
        return index
    }

    /// Whether CR LF stands at `offset`, which may lie past the end.
    @inline(__always)
    func isLineEnd(_ offset: Int) -> Bool {
        offset &+ 2 <= byteCount
            && unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt16.self).littleEndian
                == 0x0A0D
    }

    /// Where the bytes from `start` on that may stand in the path of a request target end: those of
    /// ``targetEnd(from:)`` but `?`.
    @inline(__always)
    func pathEnd(from start: Int) -> Int {
        var index = end(from: start) { bytes in
            bytes | ~(bytes &+ 0x5F) | (bytes &+ 1)
                | ~(((bytes ^ 0x23) &+ 0x7F) & ((bytes ^ 0x3F) &+ 0x7F))
        }
        while index < byteCount, uncheckedByte(index) != UInt8(ascii: "?"),
            Self.isOfTarget(uncheckedByte(index))
        {
            index &+= 1
        }
        return index
    }

    /// Where the bytes from `start` on that may stand in a request target end: visible ASCII but
    /// `#`, since a fragment is never sent (RFC 9110, section 7.1).
    func targetEnd(from start: Int) -> Int {
        var index = start
        while index < byteCount, Self.isOfTarget(uncheckedByte(index)) { index &+= 1 }
        return index
    }

    @inline(__always)
    private static func isOfTarget(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#")
    }
}
