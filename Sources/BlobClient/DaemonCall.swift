public import BlobProtocol

/// A call of one of HTTP's resources, with the way in which its answer is read. `docs/HTTP.md` has
/// what each of them does.
///
/// A call is a value, which either kind of client makes:
///
/// ```swift
/// let record = try await client.call(.stat("42"))             // BlobdClient
/// let gone = try await client.call(ifPresent: .delete("42")) == nil
/// let history = try connection.call(.history(of: "ann"))      // BlobConnection, blocking
/// _ = try connection.queueCall(.delete("43"))                 // … and pipelined
/// ```
///
/// The static functions throw `ClientError.invalid` for an id, an owner or a category that the
/// daemon would not take for one. Making a call throws `refused` with the daemon's code, and besides
/// what its documentation names. Changes are on the daemon's disk when their answer comes.
public struct DaemonCall<Answer>: Sendable {
    /// What is done with the resource.
    public var method: CallMethod
    /// Path and query, percent-encoded, 1…8,000 bytes.
    public var target: String
    /// The body, which is copied once more when the call is queued; empty: none.
    public var body: [UInt8]
    /// The body's media type; nil: not said.
    public var mediaType: String?
    /// The device that makes the change, 1…64 bytes; others learn of it with the change. Nil: none.
    public var device: String?
    /// What must hold of the notification or the category, or `preconditionFailed` is thrown.
    public var condition: CallCondition
    /// How the body is coded. Payloads, blobs and documents may be coded with gzip.
    public var coding = WireCoding.identity
    /// How long the daemon may keep silent before it answers, in seconds.
    var waitSeconds = 0
    /// Reads the answer to this call, of which `receive` gives the bytes. Throws `protocolViolation`
    /// for one that is not as it should be.
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

    /// A call that is answered with a JSON object.
    init(
        _ method: CallMethod, _ target: CallTarget, body: [UInt8] = [], mediaType: String? = nil,
        device: String? = nil, condition: CallCondition = .none,
        reading object: @escaping @Sendable (DocumentReader) throws(ClientError) -> Answer
    ) {
        self.init(
            method, target, body: body, mediaType: mediaType, device: device, condition: condition,
            read: { (answer) throws(ClientError) in try object(DocumentReader(answer.body)) })
    }
}

extension DaemonCall where Answer == CallAnswer {
    /// Any call at all: the same target and body as in HTTP. It answers the document as it came.
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

/// What a call does with its resource.
public typealias CallMethod = Call.Method

/// What must hold of the notification or the category for a call to be carried out.
public typealias CallCondition = Call.Condition

enum DocumentType {
    static let json = "application/json"
    static let jsonLines = "application/x-ndjson"
    static let mergePatch = "application/merge-patch+json"
}
