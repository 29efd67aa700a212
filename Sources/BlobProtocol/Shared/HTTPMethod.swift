import Bytes

/// A request's method (RFC 9110, section 9). Methods are case-sensitive. The raw value is its number in a call of the
/// binary protocol, which supports the first five.
public enum HTTPMethod: UInt8, Sendable, Hashable, CaseIterable {
    case get = 1
    case put = 2
    case post = 3
    case patch = 4
    case delete = 5
    case head, options
    /// Any other valid token: 405 for every path.
    case other

    var isOfCalls: Bool { rawValue <= HTTPMethod.delete.rawValue }

    /// The method as sent; `-` if it is not known.
    public var name: StaticString {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .put: "PUT"
        case .post: "POST"
        case .delete: "DELETE"
        case .patch: "PATCH"
        case .options: "OPTIONS"
        case .other: "-"
        }
    }

    /// The method with this token.
    init(_ token: RawSpan) {
        switch token.byteCount {
        case 3 where token.equals("GET"): self = .get
        case 3 where token.equals("PUT"): self = .put
        case 4 where token.equals("HEAD"): self = .head
        case 4 where token.equals("POST"): self = .post
        case 5 where token.equals("PATCH"): self = .patch
        case 6 where token.equals("DELETE"): self = .delete
        case 7 where token.equals("OPTIONS"): self = .options
        default: self = .other
        }
    }
}
