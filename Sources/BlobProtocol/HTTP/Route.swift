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
    /// `/v1/blobs/{digest}`: see `DigestText`.
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
    /// Any other: 404.
    case unknown

    /// Finds the resource of a path without its query. Empty segments and a slash at the end make a
    /// path unknown.
    public static func parse(path: RawSpan) -> Route {
        var segments = PathSegments(path)
        guard let first = segments.next(path) else { return .unknown }
        switch first.of(path) {
        case let text where text.equals("v1"): return versioned(path, &segments)
        case let text where text.equals("api"):
            guard let second = segments.next(path), second.of(path).equals("notifications"),
                let id = segments.next(path), segments.isAtEnd(path)
            else { return .unknown }
            return .classicPayload(id: id)
        case let text where text.equals("livez"):
            return segments.isAtEnd(path) ? .livez : .unknown
        case let text where text.equals("readyz") || text.equals("healthz"):
            return segments.isAtEnd(path) ? .readyz : .unknown
        default: return .unknown
        }
    }

    private static func versioned(_ path: RawSpan, _ segments: inout PathSegments) -> Route {
        guard let kind = segments.next(path) else { return .unknown }
        if kind.of(path).equals("notifications") { return notification(path, &segments) }
        if kind.of(path).equals("blobs") {
            if segments.isAtEnd(path) { return .blobs }
            guard let digest = segments.next(path), segments.isAtEnd(path) else { return .unknown }
            return .blob(digest: digest)
        }
        if kind.of(path).equals("stats"), segments.isAtEnd(path) { return .stats }
        if kind.of(path).equals("users") { return user(path, &segments) }
        if kind.of(path).equals("categories") {
            if segments.isAtEnd(path) { return .categories }
            guard let name = segments.next(path), segments.isAtEnd(path) else { return .unknown }
            return .category(name: name)
        }
        if kind.of(path).equals("notifications:batch"), segments.isAtEnd(path) { return .batch }
        return .unknown
    }

    private static func notification(_ path: RawSpan, _ segments: inout PathSegments) -> Route {
        if segments.isAtEnd(path) { return .notifications }
        guard let id = segments.next(path) else { return .unknown }
        if segments.isAtEnd(path) { return .notification(id: id) }
        guard let kind = segments.next(path) else { return .unknown }
        if kind.of(path).equals("payload") {
            return segments.isAtEnd(path) ? .payload(id: id) : .unknown
        }
        if kind.of(path).equals("parts"), let name = segments.next(path) {
            return segments.isAtEnd(path) ? .part(id: id, name: name) : .unknown
        }
        guard segments.isAtEnd(path) else { return .unknown }
        if kind.of(path).equals("responses") { return .responses(id: id) }
        return kind.of(path).equals("envelope") ? .envelope(id: id) : .unknown
    }

    private static func user(_ path: RawSpan, _ segments: inout PathSegments) -> Route {
        guard let owner = segments.next(path) else { return .unknown }
        if segments.isAtEnd(path) { return .owner(owner: owner) }
        guard let kind = segments.next(path), segments.isAtEnd(path) else { return .unknown }
        if kind.of(path).equals("changes") { return .ownerChanges(owner: owner) }
        return kind.of(path).equals("notifications") ? .ownerNotifications(owner: owner) : .unknown
    }

    /// The methods that the resource has, for the `Allow` field of a 405 (RFC 9110, section
    /// 10.2.1); empty when there is no such resource.
    public var allow: StaticString {
        switch self {
        case .livez, .readyz, .stats, .classicPayload, .envelope, .categories, .ownerChanges:
            "GET, HEAD"
        case .notifications, .batch, .responses, .blobs: "POST"
        case .notification: "GET, HEAD, PUT, PATCH, DELETE"
        case .payload, .part, .blob: "GET, HEAD, PUT"
        case .category: "GET, HEAD, PUT, DELETE"
        case .owner: "DELETE"
        case .ownerNotifications: "GET, HEAD, PATCH, DELETE"
        case .unknown: ""
        }
    }

    /// Whether the resource has the method.
    public func allows(_ method: HTTPMethod) -> Bool {
        switch self {
        case .livez, .readyz, .stats, .classicPayload, .envelope, .categories, .ownerChanges:
            method == .get || method == .head
        case .notifications, .batch, .responses, .blobs: method == .post
        case .payload, .part, .blob: method == .get || method == .head || method == .put
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

    init(_ path: RawSpan) {
        if path.byteCount == 0 || path.byte(0) != UInt8(ascii: "/") { index = path.byteCount }
    }

    func isAtEnd(_ path: RawSpan) -> Bool { index >= path.byteCount }

    /// The next segment, or nil when it is empty or there is none.
    mutating func next(_ path: RawSpan) -> Slice? {
        guard index < path.byteCount else { return nil }
        let start = index + 1
        index = path.index(of: UInt8(ascii: "/"), from: start)
        return index > start ? Slice(start, upTo: index) : nil
    }
}
