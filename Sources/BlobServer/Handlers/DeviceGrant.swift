import BlobProtocol
import BlobStore
import Bytes

/// What a device showed for a request: a signed link, or a token.
///
/// No wait and no stream outlives it: at its expiry, and when its key is removed, the client is told what a new request
/// would be told.
struct DeviceGrant: Sendable {
    private enum Proof {
        /// As it was sent, which is what was signed.
        case link(path: [UInt8], query: [UInt8])
        case token([UInt8])
    }

    private let proof: Proof
    /// What the token says; nil: it is a link.
    let token: DeviceToken?
    /// Seconds since 1970. At this second it is not valid any more.
    private let expiresAt: Int64
    /// The keys that it was checked with last (``LinkKeys/Version``).
    private var keysNumber: UInt64

    /// A signed link; nil where it is not valid.
    init?(path: RawSpan, query: RawSpan, asOf now: Timestamp, _ keys: LinkKeys) {
        let version = keys.version
        guard let known = version.keys,
            let expiresAt = SignedLink.expiry(
                path: path, query: query, now: now.milliseconds / 1_000, keys: known)
        else { return nil }
        proof = .link(path: path.array(), query: query.array())
        token = nil
        self.expiresAt = expiresAt
        keysNumber = version.number
    }

    /// The token of an `Authorization` field (RFC 6750, section 2.1); nil where it is not valid.
    init?(authorization: RawSpan, asOf now: Timestamp, _ keys: LinkKeys) {
        let version = keys.version
        let text = Self.bearer(authorization)
        guard let known = version.keys,
            let token = DeviceToken(verifying: text, now: now.milliseconds / 1_000, keys: known)
        else { return nil }
        proof = .token(text.array())
        self.token = token
        expiresAt = token.expiresAt
        keysNumber = version.number
    }

    /// What follows the scheme, whose name may be in any case; empty for another scheme.
    @_lifetime(copy authorization)
    private static func bearer(_ authorization: RawSpan) -> RawSpan {
        let scheme: StaticString = "bearer "
        let count = scheme.utf8CodeUnitCount
        guard authorization.byteCount > count,
            authorization.extracting(first: count).text().lowercased() == scheme.description
        else { return authorization.extracting(first: 0) }
        return authorization.extracting(droppingFirst: count)
    }

    /// Whether it is valid now. Computes a signature only where keys have been read since the last call.
    mutating func isValid(asOf now: Timestamp, _ keys: LinkKeys) -> Bool {
        let seconds = now.milliseconds / 1_000
        guard seconds < expiresAt else { return false }
        let version = keys.version
        guard version.number != keysNumber else { return true }
        guard let known = version.keys else { return false }
        let isValid =
            switch proof {
            case .link(let path, let query):
                SignedLink.isValid(
                    path: path.span.bytes, query: query.span.bytes, now: seconds, keys: known)
            case .token(let text):
                DeviceToken(verifying: text.span.bytes, now: seconds, keys: known) != nil
            }
        if isValid { keysNumber = version.number }
        return isValid
    }

    /// What a request without a valid one is told. Whatever is wrong, the answer is the same.
    var refusal: ProtocolError { token == nil ? .linkNotValid : .tokenNotValid }
}

extension ProtocolError {
    static let linkNotValid = ProtocolError(.forbidden, "the link is not valid")

    static let tokenNotValid = ProtocolError(.badToken, "the token is missing or not valid")

    static let scopeTooSmall = ProtocolError(
        .insufficientScope, "the token's scope does not allow changes")
}

extension DeviceToken {
    /// The notifications that exist for the device.
    var notifications: NotificationScope { NotificationScope(owner: owner, app: app) }
}
