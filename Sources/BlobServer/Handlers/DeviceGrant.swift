import BlobProtocol
import BlobStore
import Bytes

/// What a device presented with a request: a signed link, or a token.
///
/// No wait, no stream and no body outlives it: when it expires, or its key is removed, the client gets the answer that a
/// new request would get.
struct DeviceGrant: Sendable {
    private enum Proof {
        /// As sent, which is what was signed.
        case link(path: [UInt8], query: [UInt8])
        case token([UInt8])

        /// When it expires, and what the token contains; nil if it is not valid.
        func check(
            asOf now: Timestamp, _ keys: SigningKeys
        ) -> (expiresAt: Int64, token: DeviceToken?)? {
            let now = now.milliseconds / 1_000
            switch self {
            case .link(let path, let query):
                return SignedLink.expiry(
                    path: path.span.bytes, query: query.span.bytes, now: now, keys: keys
                ).map { ($0, nil) }
            case .token(let text):
                return DeviceToken(verifying: text.span.bytes, now: now, keys: keys)
                    .map { ($0.expiresAt, $0) }
            }
        }
    }

    private let proof: Proof
    /// The token's content; nil for a link.
    let token: DeviceToken?
    /// Seconds since 1970. Invalid from this second on.
    private let expiresAt: Int64
    /// The keys that it was last checked with (``LinkKeys/Version``).
    private var keysNumber: UInt64

    private init?(_ proof: Proof, asOf now: Timestamp, _ keys: LinkKeys) {
        let version = keys.version
        guard let known = version.keys, let said = proof.check(asOf: now, known) else { return nil }
        self.proof = proof
        (expiresAt, token) = said
        keysNumber = version.number
    }

    /// A signed link; nil if it is not valid.
    init?(path: RawSpan, query: RawSpan, asOf now: Timestamp, _ keys: LinkKeys) {
        self.init(.link(path: path.array(), query: query.array()), asOf: now, keys)
    }

    /// The token of an `Authorization` field (RFC 6750, section 2.1); nil if it is not valid.
    init?(authorization: RawSpan, asOf now: Timestamp, _ keys: LinkKeys) {
        self.init(.token(Self.bearer(authorization).array()), asOf: now, keys)
    }

    /// What follows the scheme, whose name is case-insensitive; empty for another scheme.
    @_lifetime(copy authorization)
    private static func bearer(_ authorization: RawSpan) -> RawSpan {
        let scheme: StaticString = "bearer "
        let count = scheme.utf8CodeUnitCount
        guard authorization.byteCount > count,
            authorization.extracting(first: count).text().lowercased() == scheme.description
        else { return authorization.extracting(first: 0) }
        return authorization.extracting(droppingFirst: count)
    }

    /// Whether it is valid now. Computes a signature only if keys were read since the last call.
    mutating func isValid(asOf now: Timestamp, _ keys: LinkKeys) -> Bool {
        guard now.milliseconds / 1_000 < expiresAt else { return false }
        let version = keys.version
        guard version.number != keysNumber else { return true }
        guard let known = version.keys, proof.check(asOf: now, known) != nil else { return false }
        keysNumber = version.number
        return true
    }

    /// The answer to a request without a valid one. It is the same for every defect.
    var refusal: ProtocolError { token == nil ? .linkNotValid : .tokenNotValid }
}

extension RequestHandler {
    /// Why a device's request ends: its grant is no longer valid; nil: it may continue, as a backend's always may.
    func refusal(of grant: inout DeviceGrant?) -> ProtocolError? {
        guard grant?.isValid(asOf: now, links) == false else { return nil }
        return grant?.refusal
    }
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
