import FoundationEssentials

/// Why the daemon refused, as it said it: the members of an `application/problem+json` document
/// (RFC 9457) that every error answer has, in either dialect.
public struct DaemonProblem: Sendable, Hashable, Decodable, CustomStringConvertible {
    /// The most bytes of a problem document that are read. A longer one is a violation of the
    /// protocol.
    public static let byteCountMax = 65_536

    /// HTTP's number for the outcome.
    public let status: Int
    /// The stable name of what is wrong, such as `bad_ttl`.
    public let code: String
    /// What is wrong, short, the same every time.
    public let title: String
    /// What is wrong this time, with the value and the limit; nil when there is no more to say.
    public let detail: String?
    /// With `precondition_failed`: the notification's revision; nil when there is none.
    public let revision: UInt64?
    /// With `precondition_failed`: the digest of the part that the condition is about, or of the
    /// notification's `payload`; nil when there is none.
    public let digest: String?
    /// The limit that was passed, where there is one.
    public let limit: Int?
    /// With `expired`: when that was (RFC 3339); nil when it is not known.
    public let expiredAt: String?
    /// With `resync`: the target of the call that reads the history anew.
    public let history: String?

    private enum CodingKeys: String, CodingKey {
        case status, code, title, detail, revision, digest, limit, history
        case expiredAt = "expired_at"
    }

    /// A problem with these members.
    public init(
        status: Int, code: String, title: String, detail: String? = nil, revision: UInt64? = nil,
        digest: String? = nil, limit: Int? = nil, expiredAt: String? = nil, history: String? = nil
    ) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.revision = revision
        self.digest = digest
        self.limit = limit
        self.expiredAt = expiredAt
        self.history = history
    }

    /// Reads a document. One that cannot be read still gives its status, with the code `unknown`.
    init(status: Int, document: [UInt8]) {
        let decoder = JSONDecoder()
        if let problem = try? decoder.decode(DaemonProblem.self, from: Data(document)) {
            self = problem
        } else {
            self.init(status: status, code: "unknown", title: "Refused")
        }
    }

    /// The daemon's words.
    public var description: String {
        "\(detail ?? title) (\(status) \(code))"
    }
}
