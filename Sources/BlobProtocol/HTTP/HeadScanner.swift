import Bytes

/// Looks for the empty line that ends a request's head, and remembers how far it got. A value of 40
/// bytes to keep with each connection.
public struct HeadScanner: Sendable, Hashable {
    private var position = 0
    private var lineStart = 0
    /// Where the header section begins; 0 as long as the request line is not whole.
    private var sectionStart = 0
    private var emptyLineCount = 0

    /// A scanner that has seen nothing.
    public init() {}

    /// Whether nothing has been looked at yet.
    public var isFresh: Bool { position == 0 }

    /// Looks at the bytes that were added since the last call: true when the head's end is among
    /// them. Throws when a limit is passed or a line ends in a bare LF, as the parser will.
    mutating func scan(_ bytes: RawSpan) throws(ProtocolError) -> Bool {
        while position < bytes.byteCount {
            let index = position
            position += 1
            guard bytes.byte(index) == 0x0A else { continue }
            guard index > lineStart, bytes.byte(index - 1) == 0x0D else { throw HeadParser.bareLF }
            let lineByteCount = index - 1 - lineStart
            lineStart = position
            if sectionStart > 0 {
                try HeadParser.checkSection(byteCount: position - sectionStart)
                if lineByteCount == 0 { return true }
            } else if lineByteCount == 0 {
                emptyLineCount += 1
                try HeadParser.checkEmptyLines(emptyLineCount)
            } else {
                try HeadParser.checkRequestLine(byteCount: lineByteCount)
                sectionStart = position
            }
        }
        if sectionStart > 0 {
            try HeadParser.checkSection(byteCount: position - sectionStart)
        } else {
            // The last byte may be the CR of the line's end.
            try HeadParser.checkRequestLine(byteCount: position - 1 - lineStart)
        }
        return false
    }
}
