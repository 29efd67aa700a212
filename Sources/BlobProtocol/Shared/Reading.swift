package import Bytes

// What is read from bytes, or the protocol's error.

extension RFC3339 {
    /// Reads a time as ``milliseconds(_:)`` does. Throws `bad_expiry` for anything else, and for a time
    /// outside of the years 1970 to 9999.
    package static func parse(_ text: RawSpan) throws(ProtocolError) -> Int64 {
        guard let milliseconds = milliseconds(text) else {
            throw ProtocolError(
                .badExpiry,
                "the time \(text.excerpt()) must have the form 2026-12-01T00:00:00Z or "
                    + "2026-12-01T00:00:00+01:00 (in a query write + as %2B)")
        }
        guard milliseconds >= 0, milliseconds <= millisecondsMax else {
            throw ProtocolError(
                .badExpiry, "the time \(text.excerpt()) must be in the years 1970 to 9999")
        }
        return milliseconds
    }
}

extension PercentCoding {
    /// Appends the decoded bytes, at most as many as there are in `text`. Throws an error of `code`
    /// for a `%` without two hexadecimal digits behind it; `out` then has the bytes before it.
    package static func decode(
        _ text: RawSpan, plusIsSpace: Bool = false,
        orThrow code: @autoclosure () -> ErrorCode = .malformed,
        into out: inout [UInt8]
    ) throws(ProtocolError) {
        guard let fault = decode(text, plusIsSpace: plusIsSpace, into: &out) else { return }
        throw ProtocolError(
            code(),
            "in \(text.excerpt()) the % at byte \(fault) is not followed by two hex digits")
    }
}

extension Token {
    /// The slice without the blanks at its two ends.
    static func trimmed(_ bytes: RawSpan, _ slice: Slice) -> Slice {
        var lower = slice.offset
        var upper = slice.end
        while lower < upper, isBlank(bytes.byte(lower)) { lower += 1 }
        while upper > lower, isBlank(bytes.byte(upper - 1)) { upper -= 1 }
        return Slice(lower, upTo: upper)
    }
}
