import Bytes
import Hashing

/// Links with which a device fetches without a backend: `/d/{id}?e=…&k=…&sig=…`. The signature is the unpadded
/// base64url of HMAC-SHA-256 over `GET`, the path as sent, `e` and `k`, joined by line feeds.
public struct SignedLink: Sendable, Hashable {
    /// What a device may fetch.
    public enum Target: Sendable, Hashable {
        /// A payload.
        case payload(id: String)
        /// Another part.
        case part(id: String, name: String)
        /// A user's changes.
        case changes(owner: String)

        /// The path, percent-encoded.
        public var path: String {
            switch self {
            case .payload(let id): "/d/\(PercentCoding.encoded(id))"
            // Unencoded, this would be the feed of the owner `parts`.
            case .part("users", "changes"): "/d/%75sers/parts/changes"
            case .part(let id, let name):
                "/d/\(PercentCoding.encoded(id))/parts/\(PercentCoding.encoded(name))"
            case .changes(let owner): "/d/users/\(PercentCoding.encoded(owner))/changes"
            }
        }
    }

    /// Path and query.
    public let text: String

    /// Creates a link with the first key. It is invalid from `expiresAt` on, in seconds since 1970. Throws `bad_expiry`
    /// if that is after the year 9999, as a time in milliseconds is: no daemon accepts such a link.
    public init(to target: Target, expiresAt: Int64, keys: SigningKeys) throws(ProtocolError) {
        try Self.check(expiresAt)
        let path = target.path
        let key = keys.keys[0]
        let expiry = Array(String(expiresAt).utf8)
        var text = Array(path.utf8)
        let code = Self.code(text.span.bytes, expiry.span.bytes, key)
        text += Array("?e=".utf8) + expiry + Array("&k=".utf8) + key.id + Array("&sig=".utf8)
        Base64.appendURL(code.span.bytes, to: &text)
        self.text = String(decoding: text, as: UTF8.self)
    }

    static func check(_ expiresAt: Int64) throws(ProtocolError) {
        let max = WireLimits.linkExpirySecondsMax
        try require(
            expiresAt <= max, .badExpiry,
            "the expiry is \(expiresAt); it must be in seconds since 1970, at most \(max) (the year 9999)",
            limit: Int(max))
    }

    /// Whether a query parameter belongs to a link.
    package static func isParameter(_ name: RawSpan) -> Bool {
        name.equals("e") || name.equals("k") || name.equals("sig")
    }

    private static let begin: [UInt8] = Array("GET\n".utf8)
    private static let lineFeed: [UInt8] = [0x0A]

    private static func code(
        _ path: RawSpan, _ expiry: RawSpan, _ key: SigningKeys.Key
    ) -> InlineArray<32, UInt8> {
        var text = key.code.text
        text.update(begin)
        text.update(path)
        text.update(lineFeed)
        text.update(expiry)
        text.update(lineFeed)
        text.update(key.id)
        return key.code.code(of: text)
    }

    /// The expiry of a link, given the path and query of a request; nil if it is not valid. Parameters of other names
    /// are not signed. Takes as long for an invalid link: a code is always computed and compared. Allocates nothing.
    package static func expiry(
        path: RawSpan, query: RawSpan, now: Int64, keys: SigningKeys
    ) -> Int64? {
        var said = Parameters()
        var isValid = said.read(query)
        let known = keys.keys.firstIndex { $0.id.span.bytes.equals(said.key.of(query)) }
        let code = code(path, said.expiry.of(query), keys.keys[known ?? 0])
        let isSame = Base64.isURL(said.signature.of(query), of: code.span.bytes)
        var expiry: Int64 = 0
        switch Decimal.parse(said.expiry.of(query)) {
        case .value(let value): expiry = Int64(clamping: value)
        case .tooLarge, .malformed: isValid = false
        }
        isValid = isValid && expiry <= WireLimits.linkExpirySecondsMax
        return isValid && known != nil && isSame && now < expiry ? expiry : nil
    }

    /// Where a query has the parameters of a link.
    private struct Parameters {
        var expiry = Slice.empty
        var key = Slice.empty
        var signature = Slice.empty

        /// - Returns: false if a parameter is missing or repeated, or the query cannot be read.
        mutating func read(_ query: RawSpan) -> Bool {
            var parameters = QueryParameters()
            var isRight = true
            do throws(ProtocolError) {
                while let (name, value) = try parameters.next(query) {
                    let name = name.of(query)
                    if name.equals("e") {
                        isRight = isRight && expiry.isEmpty
                        expiry = value
                    } else if name.equals("k") {
                        isRight = isRight && key.isEmpty
                        key = value
                    } else if name.equals("sig") {
                        isRight = isRight && signature.isEmpty
                        signature = value
                    }
                }
            } catch {
                return false
            }
            return isRight && !expiry.isEmpty && !key.isEmpty && !signature.isEmpty
        }
    }
}
