import BlobProtocol
import TestSupport

/// What came of parsing a head, as plain values to expect.
enum HeadOutcome: Equatable {
    case head(HTTPRequestHead, consumed: Int)
    case more
    case refused(ErrorCode)

    var head: HTTPRequestHead? {
        if case .head(let head, _) = self { head } else { nil }
    }
}

/// Parses a head in one piece.
func parseHead(_ bytes: [UInt8]) -> HeadOutcome {
    do throws(ProtocolError) {
        guard let (head, consumed) = try HTTPRequestHead.parse(bytes.span.bytes) else {
            return .more
        }
        return .head(head, consumed: consumed)
    } catch {
        return .refused(error.code)
    }
}

/// Parses a head given as text, whose lines end in LF and get a CR here; the empty line is added.
func parseHead(lines: String) -> HeadOutcome {
    parseHead(crlf(lines + "\n\n"))
}

/// Parses a GET with these field lines besides Host.
func parseFields(_ lines: String, method: String = "GET") -> HeadOutcome {
    parseHead(lines: "\(method) / HTTP/1.1\nHost: b\n" + lines)
}

/// Text as bytes, each LF made CR LF.
func crlf(_ text: String) -> [UInt8] {
    text.utf8.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
}

/// The text of a slice of `bytes`.
func text(_ slice: Slice?, in bytes: [UInt8]) -> String? {
    guard let slice else { return nil }
    return String(decoding: bytes[slice.offset..<slice.end], as: UTF8.self)
}

/// The code that a check throws, or nil when it throws nothing.
func code(_ check: () throws(ProtocolError) -> Void) -> ErrorCode? {
    do throws(ProtocolError) {
        try check()
        return nil
    } catch {
        return error.code
    }
}
