import BlobProtocol
import TestSupport
import Testing

/// What came of parsing a head, as plain values to expect.
enum HeadOutcome: Equatable {
    case head(HTTPRequestHead, consumed: Int)
    case more
    case refused(ErrorCode)

    var head: HTTPRequestHead? {
        if case .head(let head, _) = self { head } else { nil }
    }
}

/// What a parser makes of a message, which must be the same in whatever pieces it comes: whole, byte by byte, and in two
/// pieces, cut anywhere (one of more than 100 bytes at 100 places, one of thousands at 20).
func inEveryWay<Outcome: Equatable>(
    _ bytes: [UInt8], _ location: SourceLocation = #_sourceLocation,
    isSame: (_ whole: Outcome, Outcome) -> Bool = { $0 == $1 },
    _ parse: (_ pieces: [[UInt8]]) -> Outcome
) -> Outcome {
    let whole = parse([bytes])
    let placeCount = bytes.count < 2_000 ? 100 : 20
    let cuts = stride(from: 1, to: max(1, bytes.count), by: max(1, bytes.count / placeCount))
    let ways = [bytes.map { [$0] }] + cuts.map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
    for pieces in ways {
        let outcome = parse(pieces)
        guard isSame(whole, outcome) else {
            Issue.record(
                "\(outcome) in \(pieces.count) pieces, the first of \(pieces[0].count), instead of \(whole)",
                sourceLocation: location)
            break
        }
    }
    return whole
}

/// Parses a head. One that comes in pieces may be refused later.
func parseHead(_ bytes: [UInt8]) -> HeadOutcome {
    inEveryWay(
        bytes,
        isSame: { whole, outcome in
            if case .refused = whole { outcome.head == nil } else { outcome == whole }
        }, parseHead(pieces:))
}

/// Parses a head that comes in pieces.
func parseHead(pieces: [[UInt8]]) -> HeadOutcome {
    var scanner = HeadScanner()
    var held: [UInt8] = []
    do throws(ProtocolError) {
        for piece in pieces {
            held += piece
            var head = HTTPRequestHead()
            if let consumed = try head.read(held.span.bytes, resuming: &scanner) {
                return .head(head, consumed: consumed)
            }
        }
        return .more
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
