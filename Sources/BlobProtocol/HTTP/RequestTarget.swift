import Bytes
import Glibc

/// The forms of a request target (RFC 9112, section 3.2).
enum RequestTarget {
    /// Finds path and query in `head.target`; the path ends at `pathEnd`. The authority form is for CONNECT, which is
    /// refused.
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
            // A URI of this scheme without a host is invalid (RFC 9110, section 4.2.1).
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

    /// `https` is not accepted: the request did not arrive over a secure connection (RFC 9110, section 7.4).
    private static func authorityStart(_ target: RawSpan) -> Int? {
        target.hasPrefixIgnoringCase("http://") ? 7 : nil
    }

    private static func refused(_ target: RawSpan) -> ProtocolError {
        ProtocolError(
            .malformed, "the request target \(target.excerpt()) is not a path or an http URI")
    }
}

/// A host with or without a port (RFC 3986, section 3.2). User information is an error (RFC 9110, section 4.2.4).
enum Authority {
    static func isValid(_ text: RawSpan) -> Bool {
        var index = 0
        if text.byteCount > 0, text.byte(0) == UInt8(ascii: "[") {
            while index < text.byteCount, text.byte(index) != UInt8(ascii: "]") { index += 1 }
            guard index < text.byteCount, isIPLiteral(text.extracting(1..<index)) else {
                return false
            }
            index += 1
        } else {
            guard let end = registeredNameEnd(text), end > 0 else { return false }
            index = end
        }
        guard index < text.byteCount else { return true }
        guard text.byte(index) == UInt8(ascii: ":") else { return false }
        return isPort(text.extracting(droppingFirst: index + 1))
    }

    /// `port = *DIGIT`, within the range of ports.
    private static func isPort(_ text: RawSpan) -> Bool {
        guard text.byteCount > 0 else { return true }
        guard case .value(let number) = Decimal.parse(text) else { return false }
        return number <= 65_535
    }

    /// The end of `*( unreserved / pct-encoded / sub-delims )`; nil for a `%` without two hexadecimal digits.
    private static func registeredNameEnd(_ text: RawSpan) -> Int? {
        var index = 0
        while index < text.byteCount, isNameByte(text.byte(index)) {
            if text.byte(index) == UInt8(ascii: "%") {
                guard text.byteCount - index > 2, Hex.value(text.byte(index + 1)) != nil,
                    Hex.value(text.byte(index + 2)) != nil
                else { return nil }
            }
            index += 1
        }
        return index
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "$")...UInt8(ascii: "."),
            UInt8(ascii: "!"), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// An IPv6 address, or one of a future version (`"v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" )`).
    private static func isIPLiteral(_ text: RawSpan) -> Bool {
        guard text.byteCount > 0, text.byte(0) | 0x20 == UInt8(ascii: "v") else {
            return isIPv6(text)
        }
        var index = 1
        while index < text.byteCount, Hex.value(text.byte(index)) != nil { index += 1 }
        guard index > 1, index + 1 < text.byteCount, text.byte(index) == UInt8(ascii: ".") else {
            return false
        }
        for position in index + 1..<text.byteCount {
            let byte = text.byte(position)
            guard byte == UInt8(ascii: ":") || (isNameByte(byte) && byte != UInt8(ascii: "%"))
            else { return false }
        }
        return true
    }

    private static func isIPv6(_ text: RawSpan) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text.text(), &address) == 1
    }
}
