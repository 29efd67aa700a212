import Bytes

/// Walks through the parameters of a query, `name=value&name=value`.
package struct QueryParameters: Sendable {
    private var index = 0
    private var count = 0

    package init() {}

    /// The next parameter of `query`, name and value still percent-encoded, or nil at the end. A
    /// name without `=` has an empty value; empty parameters (`&&`) are passed over. Throws
    /// `bad_query` when there are more than 16.
    package mutating func next(
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
