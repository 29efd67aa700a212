import Bytes

// Finding where a run of bytes of one kind ends (`RawSpan.end(from:_:)`): fields and targets.

extension RawSpan {
    /// Of the bytes that may stand in a field's value.
    func fieldContentEnd(from start: Int) -> Int {
        var index = plainContentEnd(from: start)
        while index < byteCount, Token.isFieldContent(uncheckedByte(index)) { index &+= 1 }
        return index
    }

    /// Without tabs; `start` in less than sixteen bytes.
    @inline(__always)
    func plainContentEnd(from start: Int) -> Int {
        end(from: start) { bytes in ~bytes & (~(bytes &+ 0x60) | (bytes &+ 1)) }
    }

    /// Of the bytes that may stand between the quotes of an entity tag (RFC 9110, section 8.8.3).
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

    /// Of the bytes that may stand in the path of a request target.
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

    /// Visible ASCII but `#`, since a fragment is never sent (RFC 9110, section 7.1).
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

/// Walks through a comma-separated list (RFC 9110, section 5.6.1) that has no quoted strings in it.
struct ListElements {
    private var index = 0

    @inline(__always)
    mutating func next(_ text: RawSpan) -> Range<Int>? {
        while index < text.byteCount {
            var lower = index
            while lower < text.byteCount, Token.isBlank(text.byte(lower)) { lower &+= 1 }
            var upper = lower
            while upper < text.byteCount, text.byte(upper) != UInt8(ascii: ",") { upper &+= 1 }
            index = upper &+ 1
            while upper > lower, Token.isBlank(text.byte(upper &- 1)) { upper &-= 1 }
            if upper > lower { return lower..<upper }
        }
        return nil
    }
}

/// The values of up to four field lines of one name, which together are one list (RFC 9110, section 5.3).
public struct FieldLines: Sendable, Hashable {
    private var first = Slice.empty
    private var second = Slice.empty
    private var third = Slice.empty
    private var fourth = Slice.empty

    /// No line.
    public init() {}

    /// How many lines there were; 0 when the field is absent.
    public private(set) var count = 0

    /// Whether the field is absent.
    public var isEmpty: Bool { count == 0 }

    /// The value of one line, without the blanks around it; an empty slice past the last one.
    public subscript(index: Int) -> Slice {
        switch index {
        case 0: first
        case 1: second
        case 2: third
        case 3: fourth
        default: .empty
        }
    }

    /// Adds a line. Throws `headers_too_large` when there are four already.
    mutating func append(_ value: Slice, name: StaticString) throws(ProtocolError) {
        switch count {
        case 0: first = value
        case 1: second = value
        case 2: third = value
        case 3: fourth = value
        default:
            let max = WireLimits.conditionLineCountMax
            throw ProtocolError(
                .headersTooLarge, "too many field lines of \(name); the limit is \(max)", limit: max
            )
        }
        count += 1
    }
}

extension HTTPRequestHead {
    /// The value of a field, by its name in lower case, that ``parse(_:)`` leaves unread. Walks the header section
    /// again, so that heads whose fields nobody asks for cost nothing more. Throws `malformed` when it is given
    /// twice.
    public func value(
        of name: StaticString, in bytes: RawSpan
    ) throws(ProtocolError) -> Slice? {
        // After the target stand " HTTP/1.1" and the line's end, and every line ends in CR LF: the parser has seen to
        // that.
        var index = target.end + 11
        var found: Slice?
        while index < bytes.byteCount, bytes.byte(index) != 0x0D {
            let nameStart = index
            while index < bytes.byteCount, bytes.byte(index) != UInt8(ascii: ":") { index += 1 }
            let field = Slice(nameStart, upTo: index)
            let valueStart = min(index + 1, bytes.byteCount)
            index = valueStart
            while index < bytes.byteCount, bytes.byte(index) != 0x0D { index += 1 }
            if field.of(bytes).equalsIgnoringCase(name) {
                try require(found == nil, .malformed, "\(field.of(bytes).text()) is given twice")
                found = Token.trimmed(bytes, Slice(valueStart, upTo: index))
            }
            index += 2
        }
        return found
    }
}
