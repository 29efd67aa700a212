import BlobProtocol
import BlobStore
import Bytes

/// A device's link by which a wait or a stream was asked for. Neither outlives it: at its expiry, and when its
/// key is removed, the client is told what a new request would be told.
struct HeldLink: Sendable {
    /// As it was sent, which is what was signed.
    private let path: [UInt8]
    private let query: [UInt8]
    /// Seconds since 1970. At this second it is not valid any more.
    private let expiresAt: Int64
    /// The keys that it was checked with last (``LinkKeys/Version``).
    private var keysNumber: UInt64

    /// Nil where the link is not valid.
    init?(path: RawSpan, query: RawSpan, asOf now: Timestamp, _ keys: LinkKeys) {
        let version = keys.version
        guard let known = version.keys,
            let expiresAt = SignedLink.expiry(
                path: path, query: query, now: now.milliseconds / 1_000, keys: known)
        else { return nil }
        self.path = path.array()
        self.query = query.array()
        self.expiresAt = expiresAt
        keysNumber = version.number
    }

    /// Whether it is valid now. Computes a signature only where keys have been read since the last call.
    mutating func isValid(asOf now: Timestamp, _ keys: LinkKeys) -> Bool {
        let seconds = now.milliseconds / 1_000
        guard seconds < expiresAt else { return false }
        let version = keys.version
        guard version.number != keysNumber else { return true }
        guard let known = version.keys,
            SignedLink.isValid(
                path: path.span.bytes, query: query.span.bytes, now: seconds, keys: known)
        else { return false }
        keysNumber = version.number
        return true
    }
}
