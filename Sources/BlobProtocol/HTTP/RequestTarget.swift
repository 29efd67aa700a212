import Bytes

/// The forms of a request target (RFC 9112, section 3.2).
enum RequestTarget {
    /// Finds path and query in `head.target`; the path ends at `pathEnd`, the first `?` or the target's end.
    ///
    /// Taken are the origin form, the absolute form (a server must accept it, section 3.2.2) and,
    /// with OPTIONS, `*`. The authority form belongs to CONNECT, which is refused.
    @inline(__always)
    static func split(
        _ bytes: RawSpan, pathEnd: Int, into head: inout HTTPRequestHead
    ) throws(ProtocolError) {
        let target = head.target
        if pathEnd < target.end { head.query = Slice(pathEnd + 1, upTo: target.end) }
        if bytes.byte(target.offset) == UInt8(ascii: "/") {
            head.path = Slice(target.offset, upTo: pathEnd)
        } else if let authority = authorityStart(target.of(bytes)) {
            let start = target.offset + authority
            var index = start
            while index < pathEnd, bytes.byte(index) != UInt8(ascii: "/") { index += 1 }
            // A URI of this scheme without a host is no valid one (RFC 9110, section 4.2.1).
            guard Authority.isValid(bytes.extracting(start..<index)) else {
                throw refused(target.of(bytes))
            }
            head.path = Slice(index, upTo: pathEnd)
        } else if target.of(bytes).equals("*"), head.method == .options {
            head.path = target
        } else {
            throw refused(target.of(bytes))
        }
    }

    /// Where the authority of an absolute target begins, or nil when the target has no known
    /// scheme. `https` is none: what was asked for in confidence did not come so (RFC 9110, section
    /// 7.4).
    private static func authorityStart(_ target: RawSpan) -> Int? {
        target.hasPrefixIgnoringCase("http://") ? 7 : nil
    }

    private static func refused(_ target: RawSpan) -> ProtocolError {
        ProtocolError(
            .malformed, "the request target \(target.excerpt()) is not a path or an http URI")
    }
}
