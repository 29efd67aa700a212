import Bytes

/// Which resource a path names. The slices are of the path that was parsed and still
/// percent-encoded: decode them (`PercentCoding`), then check them (`Names`). An encoded `/` is
/// decoded only then, and refused by the names' rules.
public enum Route: Sendable, Hashable {
    /// `/livez`
    case livez
    /// `/readyz`, and `/healthz`, which is the same
    case readyz
    /// `/v1/stats`
    case stats
    /// `/metrics`
    case metrics
    /// `/v1/backup`
    case backup
    /// `/v1/scrub`
    case scrub
    /// `/v1/replication`
    case replication
    /// `/v1/openapi.json`
    case openAPI
    /// `/v1/notifications`
    case notifications
    /// `/v1/notifications/{id}`
    case notification(id: Slice)
    /// `/v1/notifications/{id}/payload`
    case payload(id: Slice)
    /// `/v1/notifications/{id}/parts/{name}`
    case part(id: Slice, name: Slice)
    /// `/api/notifications/{id}`
    case classicPayload(id: Slice)
    /// `/v1/blobs/{digest}`: see `Digest(onWire:)`.
    case blob(digest: Slice)
    /// `/v1/blobs`
    case blobs
    /// `/v1/notifications:batch`
    case batch
    /// `/v1/notifications/{id}/responses`
    case responses(id: Slice)
    /// `/v1/notifications/{id}/envelope`
    case envelope(id: Slice)
    /// `/v1/categories`
    case categories
    /// `/v1/categories/{name}`
    case category(name: Slice)
    /// `/v1/users/{owner}`
    case owner(owner: Slice)
    /// `/v1/users/{owner}/notifications`
    case ownerNotifications(owner: Slice)
    /// `/v1/users/{owner}/changes`
    case ownerChanges(owner: Slice)
    /// `/d/{id}`: a payload by a signed link
    case link(id: Slice)
    /// `/d/{id}/parts/{name}`
    case partLink(id: Slice, name: Slice)
    /// `/d/users/{owner}/changes`
    case changesLink(owner: Slice)
    /// Any other: 404.
    case unknown

    /// Finds the resource of a path without its query. Empty segments and a slash at the end make a
    /// path unknown.
    public static func parse(path: RawSpan) -> Route {
        var segments = PathSegments()
        if segments.skip("/v1", path) { return versioned(path, &segments) }
        if segments.skip("/api/notifications", path) {
            guard let id = segments.last(path) else { return .unknown }
            return .classicPayload(id: id)
        }
        if segments.skip("/d", path) { return link(path, &segments) }
        if segments.skip("/livez", path) { return segments.end(path, .livez) }
        if segments.skip("/metrics", path) { return segments.end(path, .metrics) }
        if segments.skip("/readyz", path) || segments.skip("/healthz", path) {
            return segments.end(path, .readyz)
        }
        return .unknown
    }

    @inline(__always)
    private static func versioned(_ path: RawSpan, _ segments: inout PathSegments) -> Route {
        if segments.skip("/notifications", path) { return notification(path, &segments) }
        if segments.skip("/blobs", path) {
            if segments.isAtEnd(path) { return .blobs }
            guard let digest = segments.last(path) else { return .unknown }
            return .blob(digest: digest)
        }
        if segments.skip("/stats", path) { return segments.end(path, .stats) }
        if segments.skip("/backup", path) { return segments.end(path, .backup) }
        if segments.skip("/scrub", path) { return segments.end(path, .scrub) }
        if segments.skip("/replication", path) { return segments.end(path, .replication) }
        if segments.skip("/openapi.json", path) { return segments.end(path, .openAPI) }
        if segments.skip("/users", path) { return user(path, &segments) }
        if segments.skip("/categories", path) {
            if segments.isAtEnd(path) { return .categories }
            guard let name = segments.last(path) else { return .unknown }
            return .category(name: name)
        }
        if segments.skip("/notifications:batch", path) { return segments.end(path, .batch) }
        return .unknown
    }

    @inline(__always)
    private static func notification(_ path: RawSpan, _ segments: inout PathSegments) -> Route {
        if segments.isAtEnd(path) { return .notifications }
        guard let id = segments.next(path) else { return .unknown }
        if segments.isAtEnd(path) { return .notification(id: id) }
        if segments.skip("/payload", path) { return segments.end(path, .payload(id: id)) }
        if segments.skip("/parts", path) {
            guard let name = segments.last(path) else { return .unknown }
            return .part(id: id, name: name)
        }
        if segments.skip("/responses", path) { return segments.end(path, .responses(id: id)) }
        if segments.skip("/envelope", path) { return segments.end(path, .envelope(id: id)) }
        return .unknown
    }

    private static func link(_ path: RawSpan, _ segments: inout PathSegments) -> Route {
        guard let first = segments.next(path) else { return .unknown }
        if segments.isAtEnd(path) { return .link(id: first) }
        let behindFirst = segments
        if segments.skip("/parts", path) {
            guard let name = segments.last(path) else { return .unknown }
            // `/d/users/parts/changes` is the feed of the owner `parts`: the link to the part `changes` of the
            // notification `users` has an encoded letter (``SignedLink/Target/path``).
            guard first.of(path).equals("users"), name.of(path).equals("changes") else {
                return .partLink(id: first, name: name)
            }
            segments = behindFirst
        }
        guard first.of(path).equals("users"), let owner = segments.next(path),
            segments.skip("/changes", path)
        else { return .unknown }
        return segments.end(path, .changesLink(owner: owner))
    }

    private static func user(_ path: RawSpan, _ segments: inout PathSegments) -> Route {
        guard let owner = segments.next(path) else { return .unknown }
        if segments.isAtEnd(path) { return .owner(owner: owner) }
        if segments.skip("/changes", path) {
            return segments.end(path, .ownerChanges(owner: owner))
        }
        if segments.skip("/notifications", path) {
            return segments.end(path, .ownerNotifications(owner: owner))
        }
        return .unknown
    }

    /// Whether it takes a signed link.
    public var isLink: Bool {
        switch self {
        case .link, .partLink, .changesLink: true
        default: false
        }
    }

    /// The methods that the resource has, for the `Allow` field of a 405 (RFC 9110, section
    /// 10.2.1); empty when there is no such resource.
    public var allow: StaticString {
        switch self {
        case .livez, .readyz, .stats, .metrics, .backup, .openAPI, .classicPayload, .envelope,
            .categories,
            .ownerChanges, .link, .partLink, .changesLink:
            "GET, HEAD"
        case .notifications, .batch, .responses, .blobs: "POST"
        case .notification: "GET, HEAD, PUT, PATCH, DELETE"
        case .payload, .part, .blob: "GET, HEAD, PUT"
        case .category: "GET, HEAD, PUT, DELETE"
        case .scrub, .replication: "GET, HEAD, POST"
        case .owner: "DELETE"
        case .ownerNotifications: "GET, HEAD, PATCH, DELETE"
        case .unknown: ""
        }
    }

    /// Whether the resource has the method.
    public func allows(_ method: HTTPMethod) -> Bool {
        switch self {
        case .livez, .readyz, .stats, .metrics, .backup, .openAPI, .classicPayload, .envelope,
            .categories,
            .ownerChanges, .link, .partLink, .changesLink:
            method == .get || method == .head
        case .notifications, .batch, .responses, .blobs: method == .post
        case .payload, .part, .blob: method == .get || method == .head || method == .put
        case .scrub, .replication: method == .get || method == .head || method == .post
        case .notification:
            switch method {
            case .get, .head, .put, .patch, .delete: true
            default: false
            }
        case .category:
            switch method {
            case .get, .head, .put, .delete: true
            default: false
            }
        case .owner: method == .delete
        case .ownerNotifications:
            switch method {
            case .get, .head, .patch, .delete: true
            default: false
            }
        case .unknown: false
        }
    }
}

/// Walks through the segments of a path that begins with a slash.
private struct PathSegments {
    /// Where the slash before the next segment is.
    private var index = 0

    func isAtEnd(_ path: RawSpan) -> Bool { index >= path.byteCount }

    /// The route, if the path ends here.
    func end(_ path: RawSpan, _ route: Route) -> Route { isAtEnd(path) ? route : .unknown }

    /// Moves past segments, written with the slashes before them, if they come next.
    @inline(__always)
    mutating func skip(_ segments: StaticString, _ path: RawSpan) -> Bool {
        let end = index &+ segments.utf8CodeUnitCount
        guard end <= path.byteCount, path.contains(segments, at: index),
            end == path.byteCount || path.uncheckedByte(end) == UInt8(ascii: "/")
        else { return false }
        index = end
        return true
    }

    /// The next segment, or nil when it is empty or there is none.
    @inline(__always)
    mutating func next(_ path: RawSpan) -> Slice? {
        guard index < path.byteCount, path.uncheckedByte(index) == UInt8(ascii: "/") else {
            return nil
        }
        let start = index &+ 1
        index = path.index(of: UInt8(ascii: "/"), from: start)
        return index > start ? Slice(start, upTo: index) : nil
    }

    /// The next segment, if the path ends behind it.
    @inline(__always)
    mutating func last(_ path: RawSpan) -> Slice? {
        guard let segment = next(path), isAtEnd(path) else { return nil }
        return segment
    }
}
