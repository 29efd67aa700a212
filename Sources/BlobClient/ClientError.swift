public import BlobProtocol
import Glibc

/// Why a call did not do what it was asked to.
///
/// `notFound`, `expired`, `preconditionFailed`, `resync`, `refused`, `digestMismatch` and `invalid`
/// are about one request: the connection can be used on. After the others it cannot; make a new one.
public enum ClientError: Error, Sendable, Hashable {
    /// Nothing accepts connections at the path: no socket, no daemon behind it, or no permission.
    case noDaemon(path: String, errno: Int32)
    /// The path cannot be a socket's: empty, with a NUL, or over the kernel's limit for `sun_path`.
    case badSocketPath(String, byteCountMax: Int)
    /// There is no such notification, part or blob (404).
    case notFound(DaemonProblem)
    /// There was one, and its time is over (410).
    case expired(DaemonProblem)
    /// The notification is not as the call wanted it, and nothing was changed (412).
    /// `DaemonProblem.revision` is its present one, and nil when there is none.
    case preconditionFailed(DaemonProblem)
    /// The cursor is older than what the daemon remembers of deletions (410): read the history anew
    /// and go on from its cursor.
    case resync(DaemonProblem)
    /// The daemon refused the request; the problem says why.
    case refused(DaemonProblem)
    /// The request was not sent, because the daemon would have refused it: the error names the
    /// value and the limit.
    case invalid(ProtocolError)
    /// The bytes that came are not the bytes that were stored.
    case digestMismatch(expected: PayloadDigest, got: PayloadDigest)
    /// What came is not an answer of the protocol. The text says what it was.
    case protocolViolation(String)
    /// The daemon said or took nothing for this long.
    case timeout(milliseconds: Int)
    /// The daemon closed the connection; the text says in the middle of what.
    case closed(String)
    /// More requests are waiting for their answers than the daemon allows: receive one first.
    case tooManyUnanswered(limit: Int)
    /// The source of a payload failed, or ended before its length.
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
    /// One sentence for people: what happened, with what, and where there is something to do, what.
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
        case .tooManyUnanswered(let limit):
            "too many unanswered requests: the limit is \(limit); receive an answer first"
        case .source(let what):
            "cannot read the payload: \(what)"
        case .io(let call, let code):
            "\(call) failed: \(describe(errno: code))"
        }
    }
}
