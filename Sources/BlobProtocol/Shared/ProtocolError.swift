/// What is wrong with a message: everything a problem document says about it.
///
/// The detail is text for people and names the thing, its value and the limit. It is made when an
/// error is, and only then, so that a good request pays nothing for it.
public struct ProtocolError: Error, Sendable, Hashable {
    /// The stable name of what is wrong.
    public let code: ErrorCode
    /// One sentence for people.
    public let detail: String
    /// The limit that was passed, where there is one.
    public let limit: UInt64?
    /// What the problem document says besides.
    public var members: [ProblemMember] = []

    /// The status of the answer: HTTP's number, in both dialects.
    public let status: UInt16

    /// Whether the connection ends after the answer although the message's end was known: the peer
    /// speaks something that this version does not, and what follows would be read wrongly.
    public var endsConnection: Bool { code == .reserved || code == .version }

    /// An error that says `detail`, with the limit that was passed, if any.
    ///
    /// - Parameters:
    ///   - code: what is wrong.
    ///   - detail: one sentence for people.
    ///   - status: nil: the code's own.
    ///   - limit: the limit that was passed.
    public init(_ code: ErrorCode, _ detail: String, status: UInt16? = nil, limit: Int? = nil) {
        self.code = code
        self.status = status ?? code.status
        self.detail = detail
        self.limit = limit.map { UInt64(clamping: $0) }
    }
}
