public import BlobProtocol
import FoundationEssentials
import Glibc

/// Why a call failed. See ``endsConnection`` for whether its connection is still usable.
public enum ClientError: Error, Sendable, Hashable {
    /// Nothing accepts connections at the path: no socket, no daemon, or no permission.
    case noDaemon(path: String, errno: Int32)
    /// The path cannot be that of a socket: empty, with a NUL, or over the kernel's limit for `sun_path`.
    case badSocketPath(String, byteCountMax: Int)
    /// The notification, part or blob does not exist (404).
    case notFound(DaemonProblem)
    /// It has expired (410).
    case expired(DaemonProblem)
    /// The condition of the call does not hold, and nothing was changed (412). `DaemonProblem.revision` is the current
    /// revision; nil if there is no notification.
    case preconditionFailed(DaemonProblem)
    /// The cursor is older than the deletions that the daemon remembers (410): read the history again and continue from
    /// its cursor.
    case resync(DaemonProblem)
    /// The daemon refused the request, for the reason in the problem.
    case refused(DaemonProblem)
    /// The request was not sent, because the daemon would refuse it.
    case invalid(ProtocolError)
    /// The received bytes differ from the stored ones.
    case digestMismatch(expected: PayloadDigest, got: PayloadDigest)
    /// The daemon violated the protocol, as the text describes.
    case protocolViolation(String)
    /// The daemon sent or accepted nothing for this long.
    case timeout(milliseconds: Int)
    /// The daemon closed the connection; the text says at which point.
    case closed(String)
    /// The task was cancelled before the answer: whether the daemon did what was asked is unknown.
    case cancelled
    /// More requests are unanswered than the daemon allows: receive an answer first.
    case tooManyUnanswered(limit: Int)
    /// The source of a payload supplied too few or too many bytes.
    case source(String)
    /// A system call failed for another reason.
    case io(String, errno: Int32)

    /// Whether the connection is unusable after this error.
    public var endsConnection: Bool {
        switch self {
        case .notFound, .expired, .preconditionFailed, .resync, .refused, .digestMismatch,
            .invalid, .tooManyUnanswered:
            false
        default: true
        }
    }
}

extension ClientError: CustomStringConvertible {
    /// What happened, for display.
    public var description: String {
        switch self {
        case .noDaemon(let path, EACCES), .noDaemon(let path, EPERM):
            "no permission to connect to \(path)"
        case .noDaemon(let path, let code):
            "no daemon at \(path): \(describe(errno: code))"
        case .badSocketPath(let path, let limit):
            "the socket path '\(path)' is \(path.utf8.count) bytes long; "
                + "it must have 1 to \(limit) bytes without NUL"
        case .notFound(let problem), .expired(let problem), .preconditionFailed(let problem),
            .resync(let problem), .refused(let problem):
            problem.description
        case .invalid(let error):
            error.detail
        case .digestMismatch(let expected, let got):
            "digest mismatch: expected \(expected), got \(got)"
        case .protocolViolation(let what):
            "protocol violation by the daemon: \(what)"
        case .timeout(let milliseconds):
            "timeout: no progress for \(Double(milliseconds) / 1_000) s"
        case .closed(let when):
            "the daemon closed the connection \(when)"
        case .cancelled:
            "the call was cancelled"
        case .tooManyUnanswered(let limit):
            "too many unanswered requests: the limit is \(limit); receive an answer first"
        case .source(let what):
            "cannot read the payload: \(what)"
        case .io(let call, let code):
            "\(call) failed: \(describe(errno: code))"
        }
    }
}

/// Why the daemon refused a request: the members of its `application/problem+json` document (RFC 9457).
public struct DaemonProblem: Sendable, Hashable, Decodable, CustomStringConvertible {
    /// The longest problem document that is accepted, in bytes.
    public static let byteCountMax = 65_536

    /// The HTTP status.
    public let status: Int
    /// The stable name of the problem, such as `bad_ttl`.
    public let code: String
    /// A short constant description of the problem.
    public let title: String
    /// A description of this occurrence, with the value and the limit, or nil.
    public let detail: String?
    /// With `precondition_failed`: the notification's revision; nil if there is no notification.
    public let revision: UInt64?
    /// With `precondition_failed`: the digest of the condition's part, or of the notification's `payload`; nil if there
    /// is none.
    public let digest: String?
    /// The limit that was exceeded, or nil.
    public let limit: Int?
    /// With `expired`: the time of expiry (RFC 3339); nil if it is not known.
    public let expiredAt: String?
    /// With `resync`: the target of the call for the history.
    public let history: String?

    private enum CodingKeys: String, CodingKey {
        case status, code, title, detail, revision, digest, limit, history
        case expiredAt = "expired_at"
    }

    /// Creates a problem.
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

    init(status: Int, document: [UInt8]) {
        let decoder = JSONDecoder()
        if let problem = try? decoder.decode(DaemonProblem.self, from: Data(document)) {
            self = problem
        } else {
            self.init(status: status, code: "unknown", title: "Refused")
        }
    }

    /// The daemon's description.
    public var description: String {
        "\(detail ?? title) (\(status) \(code))"
    }
}
