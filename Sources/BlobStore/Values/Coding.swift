/// How a blob's bytes are stored: the content codings of RFC 9110, section 8.4.1.
public enum Coding: UInt8, Sendable {
    /// As given.
    case identity = 0
    /// In a gzip container (RFC 1952).
    case gzip = 1

    /// `identity` or `gzip`, as HTTP writes it.
    public var name: String {
        switch self {
        case .identity: "identity"
        case .gzip: "gzip"
        }
    }
}

/// How bytes are coded that are handed in: the content codings of RFC 9110, section 8.4.1.
public enum BodyCoding: Sendable {
    /// As they are.
    case identity
    /// In gzip containers (RFC 1952).
    case gzip
    /// In a zlib container (RFC 1950).
    case deflate
}
