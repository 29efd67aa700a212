import Bytes

/// Parses a `multipart/form-data` body (RFC 7578; RFC 2046, section 5.1) that arrives in pieces of any size. The bytes
/// of files are returned in place.
package struct MultipartParser: Sendable {
    package enum Step: Sendable, Hashable {
        case needsMore
        case part(MultipartHead)
        /// Bytes of the part, a slice of the given ones; never empty.
        case bytes(Slice)
        case partEnd
        /// The last part has ended. What follows is ignored; `next` skips it.
        case end
    }

    private enum State {
        case preamble
        case delimiter
        case head
        /// At the empty line, or at a delimiter if the part has neither bytes nor that line.
        case emptyLine
        case body
        case epilogue
    }

    private var state = State.preamble
    /// CR LF, two hyphens and the boundary.
    private let delimiter: [UInt8]
    /// Bytes of a preamble, of blanks, of an examined head, or of an epilogue.
    private var count = 0
    private var lineCount = 0

    package init(boundary: [UInt8]) {
        delimiter = Array("\r\n--".utf8) + boundary
    }

    package var isComplete: Bool { state == .epilogue }

    /// The boundary in a Content-Type (RFC 2046, section 5.1.1). Throws `bad_multipart`.
    package static func boundary(of contentType: RawSpan) throws(ProtocolError) -> [UInt8] {
        var parameters = MediaParameters(contentType)
        guard parameters.type.of(contentType).equalsIgnoringCase("multipart/form-data") else {
            throw ProtocolError(.badMultipart, "the media type is not multipart/form-data")
        }
        var boundary: [UInt8]?
        while let parameter = try parameters.next(contentType) {
            guard parameter.name.of(contentType).equalsIgnoringCase("boundary") else { continue }
            try require(boundary == nil, .badMultipart, "the media type has two boundaries")
            boundary = parameter.value
        }
        guard let boundary, !boundary.isEmpty else {
            throw ProtocolError(.badMultipart, "the media type has no boundary")
        }
        let max = WireLimits.boundaryByteCountMax
        try require(
            boundary.count <= max, .badMultipart,
            "the boundary is \(boundary.count) bytes long; the limit is \(max)", limit: max)
        try require(
            boundary.allSatisfy(isBoundary) && boundary.last != 0x20, .badMultipart,
            "the boundary \(boundary.span.bytes.excerpt()) has an invalid character, or ends in a blank"
        )
        return boundary
    }

    /// bchars of RFC 2046.
    private static func isBoundary(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x20: true
        // ' ( ) + , - . / : = ? _
        case 0x27, 0x28, 0x29, 0x2B...0x2F, 0x3A, 0x3D, 0x3F, 0x5F: true
        default: false
        }
    }

    /// The next element of `bytes`, and its size. The remaining bytes must be passed again, followed by more; these are
    /// never more than 8 KiB. However the body is cut, the steps are the same, except for how a part's bytes are
    /// divided among them.
    package mutating func next(
        _ bytes: RawSpan
    ) throws(ProtocolError) -> (step: Step, consumed: Int) {
        switch state {
        case .preamble: try preamble(bytes)
        case .delimiter: try delimiterLine(bytes)
        case .head: try head(bytes)
        case .emptyLine: emptyLine(bytes)
        case .body: body(bytes)
        case .epilogue: try epilogue(bytes)
        }
    }

    private mutating func preamble(
        _ bytes: RawSpan
    ) throws(ProtocolError) -> (step: Step, consumed: Int) {
        // At the very start, the delimiter has no CR LF, because no line comes before it.
        if count == 0 {
            let matched = bytes.matchingByteCount(
                delimiter.span.bytes.extracting(droppingFirst: 2), at: 0)
            if matched == delimiter.count - 2 {
                state = .delimiter
                return try delimiterLine(bytes, from: matched)
            }
            if matched == bytes.byteCount { return (.needsMore, 0) }
        }
        let found = find(bytes)
        try advance(found.offset, "before the first part")
        guard found.isWhole else { return (.needsMore, found.offset) }
        (state, count) = (.delimiter, 0)
        return try delimiterLine(bytes, from: found.offset + delimiter.count)
    }

    /// Two hyphens mark the last delimiter; otherwise blanks and a line end follow.
    private mutating func delimiterLine(
        _ bytes: RawSpan, from start: Int = 0
    ) throws(ProtocolError) -> (step: Step, consumed: Int) {
        var index = start
        if count == 0, index < bytes.byteCount, bytes.byte(index) == UInt8(ascii: "-") {
            guard index + 1 < bytes.byteCount else { return (.needsMore, index) }
            guard bytes.byte(index + 1) == UInt8(ascii: "-") else { throw Self.badLine }
            state = .epilogue
            return (.end, index + 2)
        }
        while index < bytes.byteCount, Token.isBlank(bytes.byte(index)) {
            index += 1
            count += 1
            let max = WireLimits.multipartBlankByteCountMax
            try require(
                count <= max, .badMultipart,
                "too many blanks after a boundary; the limit is \(max)", limit: max)
        }
        guard index < bytes.byteCount else { return (.needsMore, index) }
        guard bytes.byte(index) == 0x0D else { throw Self.badLine }
        guard index + 1 < bytes.byteCount else { return (.needsMore, index) }
        guard bytes.byte(index + 1) == 0x0A else { throw Self.badLine }
        (state, count, lineCount) = (.head, 0, 0)
        return try head(bytes, from: index + 2)
    }

    private mutating func epilogue(
        _ bytes: RawSpan
    ) throws(ProtocolError) -> (step: Step, consumed: Int) {
        try advance(bytes.byteCount, "after the last part")
        return (.end, bytes.byteCount)
    }

    private mutating func advance(_ byteCount: Int, _ place: String) throws(ProtocolError) {
        count += byteCount
        let max = WireLimits.multipartPreambleByteCountMax
        try require(
            count <= max, .badMultipart, "too many bytes \(place); the limit is \(max)", limit: max)
    }

    private static let badLine = ProtocolError(
        .badMultipart, "a boundary is not followed by -- or by the end of the line")

    /// Searches for the empty line, continuing where it stopped; then parses all lines before it.
    private mutating func head(
        _ bytes: RawSpan, from start: Int = 0
    ) throws(ProtocolError) -> (step: Step, consumed: Int) {
        guard start + count <= bytes.byteCount else { return (.needsMore, start) }
        var lineStart = true
        if count > 0 { lineStart = bytes.byte(start + count - 1) == 0x0A }
        while start + count < bytes.byteCount {
            let index = start + count
            let byte = bytes.byte(index)
            if byte == 0x0D {
                guard index + 1 < bytes.byteCount else { break }
                guard bytes.byte(index + 1) == 0x0A else { throw Self.badHead }
                if lineStart {
                    let head = try MultipartHead(bytes.extracting(start..<index))
                    (state, count) = (.emptyLine, 0)
                    return (.part(head), index)
                }
                try countLine()
                count += 2
                lineStart = true
            } else {
                guard Token.isFieldContent(byte) else { throw Self.badHead }
                if lineStart, Token.isBlank(byte) { throw Self.badHead }
                count += 1
                lineStart = false
            }
            let max = WireLimits.multipartHeadByteCountMax
            try require(
                count <= max, .badMultipart,
                "the head of a part is over the limit of \(max) bytes", limit: max)
        }
        return (.needsMore, start)
    }

    private mutating func countLine() throws(ProtocolError) {
        lineCount += 1
        let max = WireLimits.multipartHeadLineCountMax
        try require(
            lineCount <= max, .badMultipart,
            "the head of a part is over the limit of \(max) lines", limit: max)
    }

    private static let badHead = ProtocolError(
        .badMultipart,
        "the head of a part has a bare CR or LF, a folded line, or a control character"
    )

    /// A part without bytes may end directly after its field lines.
    private mutating func emptyLine(_ bytes: RawSpan) -> (step: Step, consumed: Int) {
        let matched = bytes.matchingByteCount(delimiter.span.bytes, at: 0)
        if matched == delimiter.count { return endPart(at: 0) }
        if matched == bytes.byteCount { return (.needsMore, 0) }
        state = .body
        let rest = body(bytes.extracting(droppingFirst: 2))
        switch rest.step {
        case .bytes(let slice):
            return (.bytes(Slice(offset: slice.offset + 2, count: slice.count)), rest.consumed + 2)
        default: return (rest.step, rest.consumed + 2)
        }
    }

    private mutating func body(_ bytes: RawSpan) -> (step: Step, consumed: Int) {
        let found = find(bytes)
        if found.offset > 0 {
            return (.bytes(Slice(offset: 0, count: found.offset)), found.offset)
        }
        return found.isWhole ? endPart(at: 0) : (.needsMore, 0)
    }

    private mutating func endPart(at offset: Int) -> (step: Step, consumed: Int) {
        (state, count) = (.delimiter, 0)
        return (.partEnd, offset + delimiter.count)
    }

    /// The position of the delimiter, of bytes that may become one, or of the end. Searches for CR, which a delimiter
    /// only contains at its start, so that no byte is compared more than twice.
    private func find(_ bytes: RawSpan) -> (offset: Int, isWhole: Bool) {
        let delimiter = delimiter.span.bytes
        var index = bytes.index(of: 0x0D)
        while index < bytes.byteCount {
            let matched = bytes.matchingByteCount(delimiter, at: index)
            if matched == delimiter.byteCount { return (index, true) }
            if index + matched == bytes.byteCount { return (index, false) }
            index = bytes.index(of: 0x0D, from: index + matched)
        }
        return (index, false)
    }
}

extension RawSpan {
    /// How many bytes from `offset` on match the start of `other`.
    fileprivate func matchingByteCount(_ other: RawSpan, at offset: Int) -> Int {
        let most = Swift.min(other.byteCount, byteCount - offset)
        var count = 0
        while count < most, byte(offset + count) == other.byte(count) { count += 1 }
        return count
    }
}
