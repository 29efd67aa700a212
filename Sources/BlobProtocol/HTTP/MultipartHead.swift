import Bytes
package import Notifications

package struct MultipartHead: Sendable, Hashable {
    /// The field's name, without quotes; at least one byte, otherwise unchecked.
    package var name: [UInt8]
    package var mediaType: String? { type?.text }
    package var type: MediaType?
    /// Whether it has a file's name, which is not empty.
    package var isFile = false

    /// Parses the field lines of a head (RFC 7578, section 4), whose line ends and sizes are already checked.
    init(_ bytes: RawSpan) throws(ProtocolError) {
        var name: [UInt8]?
        var start = 0
        while start < bytes.byteCount {
            var end = start
            while bytes.byte(end) != 0x0D { end += 1 }
            let (field, value) = try Self.field(bytes.extracting(start..<end))
            let line = bytes.extracting(start..<end)
            let fieldName = field.of(line)
            if fieldName.equalsIgnoringCase("content-disposition") {
                guard name == nil else { throw Self.twice("Content-Disposition") }
                (name, isFile) = try Self.disposition(value.of(line))
            } else if fieldName.equalsIgnoringCase("content-type") {
                guard type == nil else { throw Self.twice("Content-Type") }
                type = try MediaType(onWire: value.of(line))
            } else if fieldName.equalsIgnoringCase("content-transfer-encoding") {
                try Self.checkEncoding(value.of(line))
            }
            start = end + 2
        }
        self.name = try require(name, .badMultipart, "a part has no Content-Disposition")
    }

    private static func field(
        _ line: RawSpan
    ) throws(ProtocolError) -> (name: Slice, value: Slice) {
        var index = 0
        try require(
            Token.skip(line, &index) && index < line.byteCount
                && line.byte(index) == UInt8(ascii: ":"), .badMultipart,
            "the line \(line.excerpt()) of a part's head is not a field")
        let value = Token.trimmed(line, Slice(index + 1, upTo: line.byteCount))
        return (Slice(offset: 0, count: index), value)
    }

    /// The name in `form-data; name="…"`, and whether a file's name is given. Other parameters are ignored.
    private static func disposition(
        _ value: RawSpan
    ) throws(ProtocolError) -> (name: [UInt8], isFile: Bool) {
        var parameters = MediaParameters(value)
        guard parameters.type.of(value).equalsIgnoringCase("form-data") else {
            throw ProtocolError(
                .badMultipart, "a part's Content-Disposition is not form-data")
        }
        var name: [UInt8]?
        var isFile = false
        while let parameter = try parameters.next(value) {
            let parameterName = parameter.name.of(value)
            if parameterName.equalsIgnoringCase("filename")
                || parameterName.equalsIgnoringCase("filename*")
            {
                isFile = isFile || !parameter.value.isEmpty
            }
            guard parameterName.equalsIgnoringCase("name") else { continue }
            try require(name == nil, .badMultipart, "a part has two names")
            name = parameter.value
        }
        guard let name, !name.isEmpty else {
            throw ProtocolError(.badMultipart, "a part has no name")
        }
        return (name, isFile)
    }

    /// Only encodings that leave the bytes unchanged are accepted (RFC 7578, section 4.7).
    private static func checkEncoding(_ value: RawSpan) throws(ProtocolError) {
        guard
            value.equalsIgnoringCase("binary") || value.equalsIgnoringCase("8bit")
                || value.equalsIgnoringCase("7bit")
        else {
            throw ProtocolError(
                .badMultipart,
                "unknown Content-Transfer-Encoding \(value.excerpt()); 7bit, 8bit and binary are supported"
            )
        }
    }

    private static func twice(_ field: StaticString) -> ProtocolError {
        ProtocolError(.badMultipart, "a part's head has \(field) twice")
    }
}

/// A value such as `type; name=token; other="quoted \" string"` (RFC 9110, section 5.6.6).
struct MediaParameters {
    /// What precedes the first semicolon, without blanks.
    let type: Slice
    private var index: Int

    init(_ value: RawSpan) {
        var index = 0
        while index < value.byteCount, value.byte(index) != UInt8(ascii: ";") { index += 1 }
        type = Token.trimmed(value, Slice(offset: 0, count: index))
        self.index = index
    }

    /// The next parameter, with its value without quotes and escapes; nil at the end. Throws `bad_multipart`.
    mutating func next(
        _ value: RawSpan
    ) throws(ProtocolError) -> (name: Slice, value: [UInt8])? {
        while true {
            Token.skipBlanks(value, &index)
            guard index < value.byteCount else { return nil }
            guard value.byte(index) == UInt8(ascii: ";") else { throw Self.malformed(value) }
            index += 1
            Token.skipBlanks(value, &index)
            // The grammar allows "type; " with nothing after it.
            if index == value.byteCount || value.byte(index) == UInt8(ascii: ";") { continue }
            let start = index
            guard Token.skip(value, &index) else { throw Self.malformed(value) }
            let name = Slice(start, upTo: index)
            guard index < value.byteCount, value.byte(index) == UInt8(ascii: "=") else {
                throw Self.malformed(value)
            }
            index += 1
            let first = index
            if Token.skip(value, &index) {
                return (name, value.extracting(first..<index).array())
            }
            guard Token.skipQuoted(value, &index) else { throw Self.malformed(value) }
            return (name, Self.unquoted(value.extracting((first + 1)..<(index - 1))))
        }
    }

    /// A backslash escapes the next `"` or `\`. Before anything else it is literal, as browsers and curl write it.
    private static func unquoted(_ text: RawSpan) -> [UInt8] {
        var out: [UInt8] = []
        var index = 0
        while index < text.byteCount {
            if text.byte(index) == UInt8(ascii: "\\"), index + 1 < text.byteCount {
                let next = text.byte(index + 1)
                if next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\") { index += 1 }
            }
            out.append(text.byte(index))
            index += 1
        }
        return out
    }

    private static func malformed(_ value: RawSpan) -> ProtocolError {
        ProtocolError(
            .badMultipart, "\(value.excerpt()) must have the form type; name=value")
    }
}
