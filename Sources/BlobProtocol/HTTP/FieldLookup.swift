import Bytes

extension HTTPRequestHead {
    /// The value of a field that ``parse(_:)`` leaves unread, without the blanks around it; nil when
    /// the field is absent. Walks the header section again, so that heads whose fields nobody asks
    /// for cost nothing more.
    ///
    /// Throws `malformed` when the field is given twice: a list in two lines would have to be put
    /// together, and none of the fields that are looked for this way needs that.
    ///
    /// - Parameters:
    ///   - name: in lower case.
    ///   - bytes: what the head was parsed from.
    public func value(
        of name: StaticString, in bytes: RawSpan
    ) throws(ProtocolError) -> Slice? {
        // Behind the target stand " HTTP/1.1" and the line's end, and nothing else: the parser has
        // seen to that, and that every line ends in CR LF.
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
                guard found == nil else {
                    throw ProtocolError(
                        .malformed, "\(field.of(bytes).text()) is given twice")
                }
                found = Token.trimmed(bytes, Slice(valueStart, upTo: index))
            }
            index += 2
        }
        return found
    }
}
