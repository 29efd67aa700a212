import Bytes

/// The path of a payload's bytes, which is that of nearly all requests: it is recognized without a search among the
/// patterns.
///
/// The slices are of the path, and still percent-encoded (see ``PathPattern``).
public enum PayloadPath: Sendable, Hashable {
    /// `/v1/notifications/{id}/payload`, `/v1/notifications/{id}/parts/{name}` or `/api/notifications/{id}`. Without
    /// a name it is the part `payload`.
    case part(id: Slice, name: Slice)
    /// `/d/{id}` or `/d/{id}/parts/{name}`: the same by a signed link.
    case link(id: Slice, name: Slice)
    /// `/v1/blobs/{digest}`
    case blob(digest: Slice)

    /// Finds the payload of a path without its query; nil for any other path.
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
            // `/d/users/parts/changes` is the feed of the owner `parts`: the link to the part `changes` of the
            // notification `users` has an encoded letter (``SignedLink/Target/path``).
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

    /// The name of the part `payload`, which is not said.
    private static var none: Slice { Slice(offset: 0, count: 0) }

    @inline(__always)
    private static func begins(_ path: RawSpan, _ prefix: StaticString) -> Bool {
        path.byteCount >= prefix.utf8CodeUnitCount && path.contains(prefix, at: 0)
    }

    /// The segment that begins at `start`; nil when it is empty.
    @inline(__always)
    private static func segment(of path: RawSpan, from start: Int) -> Slice? {
        let end = path.index(of: UInt8(ascii: "/"), from: start)
        return end > start ? Slice(start, upTo: end) : nil
    }

    /// The segment that begins at `start`, if it is the last one.
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
