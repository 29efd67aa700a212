import Bytes
package import Notifications

/// The query of a request that stores a payload: what the binary protocol's put says in its head.
public struct PublishQuery: Sendable, Hashable {
    /// The lifetime. The longest is for the daemon to check.
    public var lifetime = Lifetime()
    /// Owner, app, title, message and rich type.
    package var texts = NotificationTexts()
    /// Whose limits hold; nil: nobody's.
    public var profile: DeviceProfile?

    /// Nothing given.
    public init() {}

    /// Reads a query; an empty one gives nothing. Throws `bad_query` for a name that is unknown or
    /// given twice and for bad escapes, and the fitting code for a bad value. Allocates what it
    /// returns.
    public static func parse(_ query: RawSpan) throws(ProtocolError) -> PublishQuery {
        var result = PublishQuery()
        var seen = 0
        var parameters = QueryParameters()
        while let (name, value) = try parameters.next(query) {
            var key: [UInt8] = []
            try PercentCoding.decode(
                name.of(query), plusIsSpace: true, orThrow: .badQuery, into: &key)
            var text: [UInt8] = []
            try PercentCoding.decode(
                value.of(query), plusIsSpace: true, orThrow: .badQuery, into: &text)
            let bit = try result.set(key.span.bytes, to: text)
            try require(
                seen & bit == 0, .badQuery,
                "the parameter \(key.span.bytes.excerpt()) is given twice")
            seen |= bit
        }
        try result.lifetime.check()
        return result
    }

    /// Sets one value; returns a bit that stands for its name.
    private mutating func set(_ name: RawSpan, to value: [UInt8]) throws(ProtocolError) -> Int {
        if name.equals("ttl") {
            lifetime.ttlSeconds = try Self.ttl(value.span.bytes)
            return 1
        }
        if name.equals("expires_at") {
            lifetime.expiryMilliseconds = try RFC3339.parse(value.span.bytes)
            return 2
        }
        if name.equals("message") {
            texts.message = try Message(given: value.span.bytes)
            return 4
        }
        if name.equals("rich_type") {
            texts.richType = try RichType(given: value.span.bytes)
            return 8
        }
        if name.equals("owner") {
            texts.owner = try OwnerID(given: value.span.bytes)
            return 16
        }
        if name.equals("title") {
            texts.title = try Title(given: value.span.bytes)
            return 32
        }
        if name.equals("app") {
            texts.app = try AppName(given: value.span.bytes)
            return 64
        }
        if name.equals("profile") {
            profile = try DeviceProfile(name: value.span.bytes)
            return 128
        }
        throw ProtocolError(
            .badQuery,
            "the parameter \(name.excerpt()) is unknown; known are ttl, expires_at, title, message, rich_type, owner, app, profile"
        )
    }

    /// Seconds in decimal digits. A sign or a fraction makes it no number of seconds.
    private static func ttl(_ text: RawSpan) throws(ProtocolError) -> Int64 {
        switch Decimal.parse(text) {
        case .value(let value):
            guard let seconds = Int64(exactly: value) else { fallthrough }
            return seconds
        case .tooLarge:
            throw ProtocolError(.badTTL, "the ttl \(text.excerpt()) is too long")
        case .malformed:
            throw ProtocolError(
                .badTTL, "the ttl \(text.excerpt()) must be a whole number of seconds, at least 1")
        }
    }
}

/// Walks through the parameters of a query, `name=value&name=value`.
public struct QueryParameters: Sendable {
    private var index = 0
    private var count = 0

    /// A walk from the start.
    public init() {}

    /// The next parameter of `query`, name and value still percent-encoded, or nil at the end. A
    /// name without `=` has an empty value; empty parameters (`&&`) are passed over. Throws
    /// `bad_query` when there are more than 16.
    public mutating func next(
        _ query: RawSpan
    ) throws(ProtocolError) -> (name: Slice, value: Slice)? {
        while index < query.byteCount {
            let start = index
            var equals = -1
            while index < query.byteCount, query.byte(index) != UInt8(ascii: "&") {
                if equals < 0, query.byte(index) == UInt8(ascii: "=") { equals = index }
                index += 1
            }
            let end = index
            index += 1
            guard end > start else { continue }
            count += 1
            let max = WireLimits.queryParameterCountMax
            try require(
                count <= max, .badQuery,
                "too many query parameters; the limit is \(max)", limit: max)
            guard equals >= 0 else { return (Slice(start, upTo: end), Slice(end, upTo: end)) }
            return (Slice(start, upTo: equals), Slice(equals + 1, upTo: end))
        }
        return nil
    }
}
