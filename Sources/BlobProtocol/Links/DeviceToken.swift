internal import BlobJSON
import Bytes
import Hashing
import Notifications

/// A bearer token (RFC 6750) with which a device acts for its owner, without a backend: a JSON Web Token (RFC 7519)
/// signed with HMAC-SHA-256 (`HS256`) and the signing key that `kid` names.
///
/// | claim | |
/// |---|---|
/// | `sub` | the owner; required |
/// | `exp` | seconds since 1970 from which the token is refused; required; at most the year 9999 |
/// | `nbf` | seconds since 1970 before which it is refused |
/// | `scope` | words separated by blanks: `read` (the default), `write`, which includes reading; others are ignored |
/// | `device` | the name that changes of this device carry |
/// | `app` | the only app whose notifications exist for this token |
/// | `aud` | if present, must be or contain `blobd` |
///
/// Other claims, such as `iat` and `jti`, are ignored.
public struct DeviceToken: Sendable, Hashable {
    /// What a token allows.
    public enum Scope: String, Sendable, CaseIterable {
        /// Reading notifications, payloads and changes.
        case read
        /// Reading, marking as read or dismissed, and responding.
        case write

        /// The scope of a list of words separated by blanks, in any order (RFC 8693, section 4.2): `read write`. Other
        /// words are ignored; nil if there is none of these.
        public init?(words text: String) {
            let words = text.split(separator: " ")
            if words.contains("write") {
                self = .write
            } else if words.contains("read") {
                self = .read
            } else {
                return nil
            }
        }

        /// The words for what it allows.
        public var words: String { self == .write ? "read write" : "read" }
    }

    /// The size of the longest accepted token, in bytes.
    public static let byteCountMax = 4_096
    /// The audience that a token may name.
    public static let audience = "blobd"

    /// The owner of the notifications.
    public let owner: String
    /// The device's name; nil: its changes carry no name.
    public let device: String?
    /// The app to which it is restricted; nil: all apps.
    public let app: String?
    /// What it allows.
    public let scope: Scope
    /// Seconds since 1970. Invalid from this second on.
    public let expiresAt: Int64

    /// Creates a token with these claims. If the daemon would refuse a name, it refuses the token.
    public init(
        owner: String, device: String? = nil, app: String? = nil, scope: Scope = .read,
        expiresAt: Int64
    ) {
        self.owner = owner
        self.device = device
        self.app = app
        self.scope = scope
        self.expiresAt = expiresAt
    }

    // MARK: Signing

    /// The token as a device sends it, signed with the first key. Costs two SHA-256. Throws `bad_expiry` if it expires
    /// after the year 9999, as one whose time is in milliseconds does: no daemon accepts such a token.
    public func text(keys: SigningKeys) throws(ProtocolError) -> String {
        try SignedLink.check(expiresAt)
        let key = keys.keys[0]
        let head: [JSONMember] = [
            JSONMember("alg", .string(Self.algorithm)), JSONMember("typ", .string(Self.type)),
            JSONMember("kid", .string(String(decoding: key.id, as: UTF8.self))),
        ]
        var claims: [JSONMember] = [
            JSONMember("sub", .string(owner)), JSONMember("exp", .number(JSONNumber(expiresAt))),
            JSONMember("scope", .string(scope.words)),
        ]
        if let device { claims.append(JSONMember("device", .string(device))) }
        if let app { claims.append(JSONMember("app", .string(app))) }
        var text: [UInt8] = []
        for members in [head, claims] {
            var json: [UInt8] = []
            JSONValue.object(members).append(to: &json)
            if !text.isEmpty { text.append(Self.dot) }
            Base64.appendURL(json.span.bytes, to: &text)
        }
        let code = key.code.code(of: text)
        text.append(Self.dot)
        Base64.appendURL(code.span.bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private static let algorithm = "HS256"
    private static let type = "JWT"
    private static let dot = UInt8(ascii: ".")

    // MARK: Verifying

    /// Verifies a request's token; nil if it is not valid at `now`, in seconds since 1970. The signature is that of the
    /// header and the claims (RFC 7515, section 3.1).
    ///
    /// A signature is always computed and compared, whatever is wrong otherwise, so that the time of a refusal reveals
    /// nothing. The header selects the key, but never the algorithm (RFC 8725, section 3.1).
    package init?(verifying text: RawSpan, now: Int64, keys: SigningKeys) {
        guard text.byteCount <= Self.byteCountMax else { return nil }
        let pieces = text.array().split(separator: Self.dot, omittingEmptySubsequences: false)
        let keyID = pieces.count == 3 ? Self.keyID(ofHeader: pieces[0]) : nil
        let key = keyID.flatMap { id in keys.keys.first { $0.id == id } }
        let signed = Array(pieces.dropLast().joined(separator: [Self.dot]))
        let code = (key ?? keys.keys[0]).code.code(of: signed)
        let signature = Array(pieces.last ?? [])
        let isSame = Base64.isURL(signature.span.bytes, of: code.span.bytes)
        guard isSame, key != nil, let claims = Self.object(pieces[1]) else { return nil }
        self.init(claims, now: now)
    }

    /// Checks the claims of a token whose signature is valid.
    private init?(_ claims: JSONValue, now: Int64) {
        guard case .string(let owner)? = claims["sub"], (try? OwnerID(onWire: owner)) != nil,
            let expiresAt = Self.date(claims["exp"]), now < expiresAt
        else { return nil }
        if let value = claims["nbf"] {
            guard let start = Self.date(value), start <= now else { return nil }
        }
        if let value = claims["aud"] {
            let audience = JSONValue.string(Self.audience)
            if case .array(let all) = value {
                guard all.contains(audience) else { return nil }
            } else {
                guard value == audience else { return nil }
            }
        }
        var scope = Scope.read
        if let value = claims["scope"] {
            guard case .string(let words) = value, let named = Scope(words: words) else {
                return nil
            }
            scope = named
        }
        var names: [String?] = []
        for (name, kind) in [("device", TextKind.device), ("app", .app)] {
            switch claims[name] {
            case nil: names.append(nil)
            case .string(let text)?:
                guard (try? kind.check(text.utf8.span.bytes)) != nil else { return nil }
                names.append(text)
            default: return nil
            }
        }
        self.init(
            owner: owner, device: names[0], app: names[1], scope: scope, expiresAt: expiresAt)
    }

    /// The key's id in a header; nil if the header has another algorithm, another type, or a `crit` that must be
    /// understood (RFC 7515, section 4.1.11).
    private static func keyID(ofHeader piece: ArraySlice<UInt8>) -> [UInt8]? {
        guard let header = object(piece), header["alg"] == .string(algorithm),
            header["crit"] == nil, case .string(let id)? = header["kid"]
        else { return nil }
        switch header["typ"] {
        case nil: break
        case .string(let name)? where name.uppercased() == type: break
        default: return nil
        }
        return Array(id.utf8)
    }

    /// The object in a piece, in unpadded base64url.
    private static func object(_ piece: ArraySlice<UInt8>) -> JSONValue? {
        let others: [UInt8] = [UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "=")]
        guard !piece.contains(where: others.contains), let bytes = Base64.decode(Array(piece)),
            let value = try? JSONValue.parse(bytes.span.bytes), case .object = value
        else { return nil }
        return value
    }

    /// A NumericDate (RFC 7519, section 2), which may have a fraction, in whole seconds; nil after the year 9999.
    private static func date(_ value: JSONValue?) -> Int64? {
        guard case .number(let number)? = value, let seconds = Double(number.text),
            let date = Int64(exactly: seconds.rounded(.down)),
            date <= WireLimits.linkExpirySecondsMax
        else { return nil }
        return date
    }
}
