@_exported public import struct Notifications.Digest

import Hashing

/// The SHA-256 of a payload's bytes as they were given: the name of a blob.
public typealias PayloadDigest = Digest

extension Digest {
    /// The digest of these bytes. Reads each of them once.
    public init(of bytes: RawSpan) { self.init(SHA256.digest(of: bytes)) }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }
}
