import Bytes

// Finds the ends of runs of bytes of one kind (`RawSpan.end(from:_:)`) in fields and targets.

extension RawSpan {
    /// The end of bytes that may occur in a field's value.
    func fieldContentEnd(from start: Int) -> Int {
        var index = plainContentEnd(from: start)
        while index < byteCount, Token.isFieldContent(uncheckedByte(index)) { index &+= 1 }
        return index
    }

    /// Like ``fieldContentEnd(from:)``, but without tabs. Returns `start` for fewer than sixteen bytes.
    @inline(__always)
    func plainContentEnd(from start: Int) -> Int {
        end(from: start) { bytes in ~bytes & (~(bytes &+ 0x60) | (bytes &+ 1)) }
    }

    /// The end of bytes that may occur between the quotes of an entity tag (RFC 9110, section 8.8.3).
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

    /// Whether CR LF is at `offset`, which may be past the end.
    @inline(__always)
    func isLineEnd(_ offset: Int) -> Bool {
        offset &+ 2 <= byteCount
            && unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt16.self).littleEndian
                == 0x0A0D
    }

    /// The end of bytes that may occur in the path of a request target.
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

    /// The end of visible ASCII other than `#`, since a fragment is never sent (RFC 9110, section 7.1).
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

/// Iterates over a comma-separated list (RFC 9110, section 5.6.1) without quoted strings.
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

/// The values of up to four field lines with one name, which form one list (RFC 9110, section 5.3).
public struct FieldLines: Sendable, Hashable {
    private var first = Slice.empty
    private var second = Slice.empty
    private var third = Slice.empty
    private var fourth = Slice.empty

    /// Creates an empty list.
    public init() {}

    /// The number of lines; 0 if the field is absent.
    public private(set) var count = 0

    /// Whether the field is absent.
    public var isEmpty: Bool { count == 0 }

    /// The value of one line, without surrounding blanks; an empty slice past the last one.
    public subscript(index: Int) -> Slice {
        switch index {
        case 0: first
        case 1: second
        case 2: third
        case 3: fourth
        default: .empty
        }
    }

    /// Adds a line. Throws `headers_too_large` if there are already four.
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
    /// The value of a field that ``parse(_:)`` does not read, by its lower-case name. Scans the header section again,
    /// so that heads cost nothing more if no such field is needed. Throws `malformed` if it is repeated.
    public func value(
        of name: StaticString, in bytes: RawSpan
    ) throws(ProtocolError) -> Slice? {
        // The target is followed by " HTTP/1.1" and the line's end, and every line ends with CR LF, as the parser has
        // checked.
        var index = target.end + 11
        let count = name.utf8CodeUnitCount
        var found: Slice?
        while index < bytes.byteCount, bytes.byte(index) != 0x0D {
            let (field, valueStart) = (Slice(offset: index, count: count), index + count + 1)
            index = bytes.index(of: 0x0D, from: index)
            // A field's name contains no colon, so this is the whole name.
            if valueStart <= index, bytes.byte(valueStart - 1) == UInt8(ascii: ":"),
                field.of(bytes).equalsIgnoringCase(name)
            {
                try require(found == nil, .malformed, "\(field.of(bytes).text()) is given twice")
                found = Token.trimmed(bytes, Slice(valueStart, upTo: index))
            }
            index += 2
        }
        return found
    }
}
