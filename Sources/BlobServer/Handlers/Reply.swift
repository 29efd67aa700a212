import BlobProtocol

/// How to answer a request whose outcome is not known yet: in which dialect, and to what.
struct PendingReply: Sendable {
    /// What was asked for.
    enum Request: Sendable {
        /// A publish of this part.
        case publish(part: String, isIDAssigned: Bool)
        case delete
        /// A ping or a health check; a ping's body comes back.
        case check(echo: [UInt8])
        case resource(ResourceReply)
    }

    /// The dialect, and what its answer repeats.
    enum Form: Sendable {
        case binary(RequestFrame)
        case http(HTTPForm)
    }

    let request: Request
    let form: Form
}

/// What the answer to an HTTP request depends on besides its outcome.
struct HTTPForm: Sendable {
    /// Whether the connection goes on after it.
    var keepAlive: Bool
    /// Whether the client spoke HTTP/1.0.
    var isHTTP10: Bool
    /// Whether the body is left out (HEAD).
    var isHead: Bool
}
