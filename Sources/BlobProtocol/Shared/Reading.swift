package import Bytes
@_exported public import struct Notifications.Digest

extension RFC3339 {
    /// Throws `bad_expiry` for anything but a time within the years 1970 to 9999.
    package static func parse(_ text: RawSpan) throws(ProtocolError) -> Int64 {
        let milliseconds = try require(
            milliseconds(text), .badExpiry,
            "the time \(text.excerpt()) must have the form 2026-12-01T00:00:00Z or "
                + "2026-12-01T00:00:00+01:00 (in a query write + as %2B)")
        try require(
            milliseconds >= 0 && milliseconds <= millisecondsMax, .badExpiry,
            "the time \(text.excerpt()) must be in the years 1970 to 9999")
        return milliseconds
    }
}

extension PercentCoding {
    /// A text as a segment of a path.
    package static func encoded(_ text: String) -> String {
        var out: [UInt8] = []
        encode(text.utf8.span.bytes, into: &out)
        return String(decoding: out, as: UTF8.self)
    }

    /// Appends the decoded bytes. Throws an error of `code` for a `%` without two hexadecimal digits after it.
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
    /// The slice without leading and trailing blanks.
    static func trimmed(_ bytes: RawSpan, _ slice: Slice) -> Slice {
        var lower = slice.offset
        var upper = slice.end
        while lower < upper, isBlank(bytes.byte(lower)) { lower += 1 }
        while upper > lower, isBlank(bytes.byte(upper - 1)) { upper -= 1 }
        return Slice(lower, upTo: upper)
    }
}

extension Digest {
    /// Reads `sha256:` and 64 hexadecimal digits of either case. Also accepts `%3A` for the colon. Throws `bad_digest`.
    public init(onWire text: RawSpan) throws(ProtocolError) {
        var prefix = 7
        if text.hasPrefixIgnoringCase("sha256%3a") {
            prefix = 9
        } else if !text.hasPrefixIgnoringCase("sha256:") {
            prefix = text.byteCount
        }
        self = try require(
            Digest(hexOfEitherCase: text.extracting(droppingFirst: prefix)), .badDigest,
            "the digest \(text.excerpt()) must have the form sha256:<64 hex digits>")
    }
}

/// The requested lifetime of a notification: not given, a number of seconds, or a time.
public struct Lifetime: Sendable, Hashable {
    /// At least 1; nil: not given.
    public var ttlSeconds: Int64?
    /// Milliseconds since 1970, within the range of RFC 3339; nil: not given.
    public var expiryMilliseconds: Int64?

    /// Creates a lifetime, which is still to be checked.
    public init(ttlSeconds: Int64? = nil, expiryMilliseconds: Int64? = nil) {
        self.ttlSeconds = ttlSeconds
        self.expiryMilliseconds = expiryMilliseconds
    }

    /// An existing notification keeps its expiry; a new one gets the daemon's default.
    public static let standard = Lifetime()

    /// This many seconds from its arrival at the daemon, at least 1.
    public static func seconds(_ count: Int64) -> Lifetime { Lifetime(ttlSeconds: count) }

    /// Until a time, in milliseconds since 1970-01-01T00:00:00Z.
    public static func until(milliseconds: Int64) -> Lifetime {
        Lifetime(expiryMilliseconds: milliseconds)
    }

    /// Checks the rules that need no clock and no setting.
    public func check() throws(ProtocolError) {
        if let ttlSeconds {
            try require(
                expiryMilliseconds == nil, .badExpiry, "a ttl and an expiry exclude each other")
            try require(
                ttlSeconds >= 1, .badTTL,
                "a ttl of \(ttlSeconds) s is too short; the minimum is 1 s")
        }
        if let expiryMilliseconds {
            let max = WireLimits.expiryMillisecondsMax
            try require(
                expiryMilliseconds >= 0 && expiryMilliseconds <= max, .badExpiry,
                "an expiry of \(expiryMilliseconds) ms must be 0 to \(max), the years 1970 to 9999")
        }
    }
}
