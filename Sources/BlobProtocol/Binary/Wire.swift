/// The constants of the binary protocol, version 1. `docs/PROTOCOL.md` draws every layout.
public enum Wire {
    /// The protocol's version, as hello negotiates it.
    public static let version: UInt16 = 1
    /// The first byte of every request frame. No HTTP request can begin with it.
    public static let requestMagic: UInt8 = 0xB1
    /// The first byte of every response frame.
    public static let responseMagic: UInt8 = 0xB2
    /// The size of the header of either frame, in bytes.
    public static let frameHeaderByteCount = 24
    /// The size of a SHA-256 digest, in bytes.
    public static let digestByteCount = 32
    /// The size of a store's id, in bytes.
    public static let storeIDByteCount = 16
    /// The media type of a payload that was given none.
    public static let defaultMediaType: StaticString = "application/octet-stream"
}

/// Which dialect a connection speaks, told by its first byte.
public enum Dialect: Sendable, Hashable {
    /// Frames of the binary protocol.
    case binary
    /// HTTP/1.1.
    case http
    /// Neither: answer 400 in HTTP, which people can read, and close.
    case unknown

    /// The dialect of a connection whose first byte is `byte`. CR and LF are HTTP's: a server skips
    /// empty lines before a request (RFC 9112, section 2.2).
    public init(firstByte byte: UInt8) {
        switch byte {
        case Wire.requestMagic: self = .binary
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x0D, 0x0A: self = .http
        default: self = .unknown
        }
    }
}

/// How the bytes of a body are coded.
public enum WireCoding: UInt8, Sendable, Hashable, CaseIterable {
    /// As they were given.
    case identity = 0
    /// A gzip stream (RFC 1952) of the bytes as given.
    case gzip = 1
}
