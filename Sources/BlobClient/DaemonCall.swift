package import BlobJSON
public import BlobProtocol
import Bytes
import Notifications

/// A call of an HTTP resource, with the way to read its answer. `docs/HTTP.md` describes each.
///
/// A call is a value that either kind of client makes:
///
/// ```swift
/// let record = try await client.call(.stat("42"))             // BlobdClient
/// let gone = try await client.call(ifPresent: .delete("42")) == nil
/// let history = try connection.call(.history(of: "ann"))      // BlobConnection, blocking
/// _ = try connection.queueCall(.delete("43"))                 // … and pipelined
/// ```
///
/// The static functions throw `ClientError.invalid` for an id, an owner or a category that the daemon would not accept.
/// Making a call throws `refused` with the daemon's code, and the errors in its documentation. Changes are on the
/// daemon's disk when they are answered.
public struct DaemonCall<Answer>: Sendable {
    /// What to do with the resource.
    public var method: CallMethod
    /// Path and query, percent-encoded, 1…8,000 bytes.
    public var target: String
    /// The body, which is copied when the call is queued; empty: none.
    public var body: [UInt8]
    /// The body's media type; nil: not given.
    public var mediaType: String?
    /// The device that makes the change, 1…64 bytes, or nil. It is reported with the change.
    public var device: String?
    /// What must hold for the notification or the category; otherwise `preconditionFailed` is thrown.
    public var condition: CallCondition
    /// How the body is coded. Payloads, blobs and documents may be coded with gzip.
    public var coding = WireCoding.identity
    var waitSeconds = 0
    /// Reads the answer to this call from `receive`. Throws `protocolViolation`.
    public let read: @Sendable (CallAnswer) throws(ClientError) -> Answer

    init(
        _ method: CallMethod, _ target: CallTarget, body: [UInt8] = [], mediaType: String? = nil,
        device: String? = nil, condition: CallCondition = .none,
        read: @escaping @Sendable (CallAnswer) throws(ClientError) -> Answer
    ) {
        self.method = method
        self.target = target.text
        self.body = body
        self.mediaType = mediaType
        self.device = device
        self.condition = condition
        self.read = read
    }

    /// A call whose answer is a JSON object.
    init(
        _ method: CallMethod, _ target: CallTarget, body: [UInt8] = [], mediaType: String? = nil,
        device: String? = nil, condition: CallCondition = .none,
        reading object: @escaping @Sendable (DocumentObject) throws(ProtocolError) -> Answer
    ) {
        self.init(
            method, target, body: body, mediaType: mediaType, device: device, condition: condition,
            read: { (answer) throws(ClientError) in try readDocument(answer.body, object) })
    }
}

extension DaemonCall where Answer == CallAnswer {
    /// Any call, with the target and body of HTTP. Returns the document unread.
    public init(
        _ method: CallMethod, _ target: String, body: [UInt8] = [], mediaType: String? = nil,
        device: String? = nil, condition: CallCondition = .none, coding: WireCoding = .identity
    ) {
        self.init(
            method, CallTarget(target), body: body, mediaType: mediaType, device: device,
            condition: condition, read: { $0 })
        self.coding = coding
    }
}

extension JSONLimits {
    /// The limits of answers.
    package static var ofAnswers: JSONLimits {
        var limits = JSONLimits()
        limits.byteCountMax = BlobConnection.documentByteCountMax
        limits.memberCountMax = .max
        // A notification's data may be 64 deep, within a record within a change within a page.
        limits.depthMax += 16
        return limits
    }
}

/// Reads an object from an answer. Unknown members are ignored, so that a newer daemon may send more.
func readDocument<Value>(
    _ document: [UInt8], _ make: (DocumentObject) throws(ProtocolError) -> Value
) throws(ClientError) -> Value {
    try parsed(document) { (bytes) throws(ProtocolError) in
        try make(DocumentObject(parsing: bytes, "the answer", limits: .ofAnswers))
    }
}

/// The method of a call.
public typealias CallMethod = Call.Method

/// What must hold for the notification or the category for a call to be carried out; otherwise the call throws
/// `preconditionFailed`. `.none`: nothing; `.revision(7)`: it exists, with this revision; `.exists`: it exists;
/// `.absent`: it does not.
public typealias CallCondition = Call.Condition

enum DocumentType {
    static let json = "application/json"
    static let jsonLines = "application/x-ndjson"
    static let mergePatch = "application/merge-patch+json"
}

/// The target of a call, path and query: the only place where the client percent-encodes.
package struct CallTarget {
    package typealias Query = [(name: String, value: String?)]

    package let text: String

    init(_ path: String, _ query: Query = []) {
        var text = path
        for case (let name, let value?) in query {
            text +=
                (text.count == path.count ? "?" : "&") + name + "=" + PercentCoding.encoded(value)
        }
        self.text = text
    }
}

extension CallTarget {
    // Invalid names are refused here: an empty one would name a different resource.

    static func notification(
        _ id: String, _ suffix: String = "", _ query: Query = []
    ) throws(ClientError) -> CallTarget {
        try check(id, .id)
        return CallTarget("/v1/notifications/" + PercentCoding.encoded(id) + suffix, query)
    }

    static func user(
        _ owner: String, _ suffix: String = "", _ query: Query = []
    ) throws(ClientError) -> CallTarget {
        try check(owner, .owner)
        return CallTarget("/v1/users/" + PercentCoding.encoded(owner) + suffix, query)
    }

    static func group(
        _ group: String, of owner: String, _ app: String?
    ) throws(ClientError) -> CallTarget {
        try user(owner, "/notifications", [("group", group), ("app", app)])
    }

    package static func category(
        _ name: String, _ app: String?
    ) throws(ClientError) -> CallTarget {
        guard !name.isEmpty else {
            throw .invalid(ProtocolError(.badCategory, "the category must not be empty"))
        }
        return CallTarget("/v1/categories/" + PercentCoding.encoded(name), [("app", app)])
    }

    static func check(_ name: String, _ kind: TextKind) throws(ClientError) {
        do throws(ProtocolError) {
            try kind.check(name.utf8.span.bytes)
        } catch {
            throw .invalid(error)
        }
    }
}
