import Bytes

/// The path of a payload's bytes, recognized without searching the patterns. The slices refer to the path, and are
/// still percent-encoded.
public enum PayloadPath: Sendable, Hashable {
    /// `/v1/notifications/{id}/payload`, `/v1/notifications/{id}/parts/{name}` or `/api/notifications/{id}`. An empty
    /// name means the part `payload`.
    case part(id: Slice, name: Slice)
    /// `/d/{id}` or `/d/{id}/parts/{name}`: the same, by a signed link.
    case link(id: Slice, name: Slice)
    /// `/v1/blobs/{digest}`
    case blob(digest: Slice)

    /// Finds the payload of a path without a query; nil for any other path.
    public static func parse(_ path: RawSpan) -> PayloadPath? {
        if begins(path, "/v1/notifications/") {
            guard let id = segment(of: path, from: 18) else { return nil }
            if path.extracting(droppingFirst: id.end).equals("/payload") {
                return .part(id: id, name: none)
            }
            return partName(in: path, after: id).map { .part(id: id, name: $0) }
        }
        if begins(path, "/d/") {
            guard let id = segment(of: path, from: 3) else { return nil }
            if id.end == path.byteCount { return .link(id: id, name: none) }
            // `/d/users/parts/changes` is the feed of the owner `parts` (``SignedLink/Target/path``).
            guard let name = partName(in: path, after: id),
                !(id.of(path).equals("users") && name.of(path).equals("changes"))
            else { return nil }
            return .link(id: id, name: name)
        }
        if begins(path, "/api/notifications/") {
            return last(of: path, from: 19).map { .part(id: $0, name: none) }
        }
        if begins(path, "/v1/blobs/") {
            return last(of: path, from: 10).map { .blob(digest: $0) }
        }
        return nil
    }

    private static var none: Slice { Slice(offset: 0, count: 0) }

    @inline(__always)
    private static func begins(_ path: RawSpan, _ prefix: StaticString) -> Bool {
        path.byteCount >= prefix.utf8CodeUnitCount && path.contains(prefix, at: 0)
    }

    @inline(__always)
    private static func segment(of path: RawSpan, from start: Int) -> Slice? {
        let end = path.index(of: UInt8(ascii: "/"), from: start)
        return end > start ? Slice(start, upTo: end) : nil
    }

    @inline(__always)
    private static func last(of path: RawSpan, from start: Int) -> Slice? {
        guard let segment = segment(of: path, from: start), segment.end == path.byteCount else {
            return nil
        }
        return segment
    }

    @inline(__always)
    private static func partName(in path: RawSpan, after id: Slice) -> Slice? {
        guard begins(path.extracting(droppingFirst: id.end), "/parts/") else { return nil }
        return last(of: path, from: id.end &+ 7)
    }
}

/// A path with segments that are parameters, in OpenAPI's notation. The slices that it finds are still percent-encoded:
/// an encoded `/` is decoded later, and refused by the rules for names.
package struct PathPattern: Sendable {
    package let text: StaticString
    /// The number of segments. A path with another number of slashes does not match.
    let segmentCount: Int
    /// The number of bytes before the first parameter: most paths of other patterns differ in these.
    private let prefixByteCount: Int

    /// The path's values of the parameters, in order; empty if the pattern has fewer.
    package struct Match: Sendable, Hashable {
        package private(set) var first = Slice.empty
        package private(set) var second = Slice.empty

        mutating func append(_ segment: Slice) {
            if first.isEmpty { first = segment } else { second = segment }
        }
    }

    /// Creates a pattern with at most two parameters, each of which is a whole segment.
    package init(_ text: StaticString) {
        self.text = text
        segmentCount = text.withUTF8Buffer { $0.count { $0 == UInt8(ascii: "/") } }
        prefixByteCount = text.withUTF8Buffer { $0.firstIndex(of: UInt8(ascii: "{")) ?? $0.count }
    }

    package var parameters: [String] {
        text.description.split(separator: "/").compactMap { segment in
            segment.hasPrefix("{") ? String(segment.dropFirst().dropLast()) : nil
        }
    }

    /// The number of segments of a path, which is compared before a pattern is.
    package static func segmentCount(of path: RawSpan) -> Int {
        var count = 0
        var index = path.index(of: UInt8(ascii: "/"))
        while index < path.byteCount {
            count += 1
            index = path.index(of: UInt8(ascii: "/"), from: index + 1)
        }
        return count
    }

    /// An empty segment matches no parameter, and a trailing slash makes a different path.
    package func match(_ path: RawSpan, segmentCount: Int) -> Match? {
        guard segmentCount == self.segmentCount else { return nil }
        let start = text.utf8Start
        let pattern = RawSpan(_unsafeStart: start, byteCount: text.utf8CodeUnitCount)
        guard path.byteCount >= prefixByteCount,
            path.extracting(first: prefixByteCount).equals(
                pattern.extracting(first: prefixByteCount))
        else { return nil }
        var match = Match()
        var (index, patternIndex) = (prefixByteCount, prefixByteCount)
        while patternIndex < pattern.byteCount {
            let byte = pattern.uncheckedByte(patternIndex)
            if byte == UInt8(ascii: "{") {
                let end = path.index(of: UInt8(ascii: "/"), from: index)
                guard end > index else { return nil }
                match.append(Slice(index, upTo: end))
                index = end
                patternIndex = pattern.index(of: UInt8(ascii: "/"), from: patternIndex)
            } else {
                guard index < path.byteCount, path.uncheckedByte(index) == byte else { return nil }
                index += 1
                patternIndex += 1
            }
        }
        return index == path.byteCount ? match : nil
    }
}

/// Iterates over the parameters of a query, `name=value&name=value`.
package struct QueryParameters: Sendable {
    private var index = 0
    private var count = 0

    package init() {}

    /// The next parameter of `query`, still percent-encoded. A name without `=` has an empty value; empty parameters
    /// are skipped. Throws `bad_query` if there are more than 16.
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
