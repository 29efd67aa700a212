public import BlobJSON
public import BlobProtocol
import Bytes
import Notifications

/// A whole notification to publish. It replaces all of an existing one except its creation time and its position in the
/// history.
public struct NotificationUpload: Sendable, Hashable {
    /// A payload of a notification.
    public struct Part: Sendable, Hashable {
        /// The source of its bytes.
        public enum Content: Sendable, Hashable {
            /// These.
            case bytes([UInt8])
            /// Bytes that are already stored, by an earlier publish or `storeBlob`.
            case stored(PayloadDigest)
        }

        /// The part's name, 1…64 bytes.
        public var name: String
        /// The media type; nil: `application/octet-stream`.
        public var mediaType: String?
        /// The source of its bytes.
        public var content: Content

        /// Creates a part.
        public init(name: String = "payload", mediaType: String? = nil, _ content: Content) {
            self.name = name
            self.mediaType = mediaType
            self.content = content
        }
    }

    /// The notification's id, 1…255 bytes; nil: the daemon chooses one.
    public var id: String?
    /// The user it is for, 1…255 bytes. Without one it appears in no history and no feed.
    public var owner: String?
    /// Which of the user's apps it is for, 1…64 bytes.
    public var app: String?
    /// The line above the text, at most 256 bytes.
    public var title: String?
    /// The text, at most 4,096 bytes.
    public var message: String?
    /// The kind of rich notification, such as `img`.
    public var richType: String?
    /// The category that supplies its actions, 1…64 bytes. It must exist.
    public var category: String?
    /// Its own actions instead of the category's, at most 10.
    public var actions: [NotificationRecord.Action]?
    /// Its group, 1…128 bytes.
    public var group: String?
    /// The platforms that it is for, at most 16 of 1…32 bytes; empty: all.
    public var platforms: [String] = []
    /// The host that it is for, 1…255 bytes.
    public var targetHost: String?
    /// How urgent it is; nil: high.
    public var priority: NotificationRecord.Priority?
    /// How long it should be shown, in seconds, at most 2,592,000.
    public var displayTTLSeconds: Int?
    /// The publisher's data, at most 16,384 bytes of JSON.
    public var data: JSONValue?
    /// Whether it counts as read; nil: no.
    public var isRead: Bool?
    /// What its owner did with it; nil: nothing.
    public var actionState: NotificationRecord.ActionState?
    /// How long it lives.
    public var lifetime = Lifetime.standard
    /// The devices that must accept its parts, `ios` or `android`, as in `PutRequest.profile`. Not stored.
    public var profile: String?
    /// Its payloads, at most 32. A notification without title, message, data and parts is refused as
    /// `empty_notification`.
    public var parts: [Part] = []

    /// Creates a notification.
    public init(id: String? = nil, owner: String? = nil, message: String? = nil) {
        self.id = id
        self.owner = owner
        self.message = message
    }

    var hasFiles: Bool {
        parts.contains { part in
            if case .bytes = part.content { true } else { false }
        }
    }

    func document(withID: Bool) -> JSONValue {
        var document = DocumentBuilder()
        if withID { document.add("id", id) }
        document.add("owner", owner)
        document.add("app", app)
        document.add("title", title)
        document.add("message", message)
        document.add("rich_type", richType)
        document.add("category", category)
        document.add("actions", actions.map { .array($0.map(\.json)) })
        document.add("group", group)
        if !platforms.isEmpty {
            document.add("platforms", .array(platforms.map { .string($0) }))
        }
        document.add("target_host", targetHost)
        document.add("priority", priority?.name)
        document.add("display_ttl", displayTTLSeconds.map { .number(JSONNumber(Int64($0))) })
        document.add("data", data)
        document.add("read", isRead.map { .bool($0) })
        document.add("action_state", actionState?.name)
        document.add("ttl", lifetime.ttlSeconds.map { .number(JSONNumber($0)) })
        document.add("expires_at", lifetime.expiryMilliseconds.map { RFC3339.text($0) })
        document.add("profile", profile)
        if !parts.isEmpty { document.add("parts", .array(parts.map(\.json))) }
        return document.value
    }

    func body() -> (bytes: [UInt8], mediaType: String) {
        var bytes: [UInt8] = []
        guard hasFiles else {
            document(withID: false).append(to: &bytes)
            return (bytes, DocumentType.json)
        }
        var form = MultipartBody()
        var text: [UInt8] = []
        document(withID: false).append(to: &text)
        form.append(name: "notification", mediaType: DocumentType.json, text)
        for part in parts {
            guard case .bytes(let content) = part.content else { continue }
            form.append(name: part.name, mediaType: part.mediaType, content)
        }
        return (form.finished(), form.mediaType)
    }
}

extension NotificationUpload.Part {
    fileprivate var json: JSONValue {
        var document = DocumentBuilder()
        document.add("name", name)
        document.add("media_type", mediaType)
        if case .stored(let digest) = content { document.add("digest", digest.description) }
        return document.value
    }
}

/// Builds a JSON object. Members that are nil are omitted.
struct DocumentBuilder {
    private var members: [JSONMember] = []

    mutating func add(_ name: String, _ value: JSONValue?) {
        if let value { members.append(JSONMember(name, value)) }
    }

    mutating func add(_ name: String, _ text: String?) {
        if let text { members.append(JSONMember(name, .string(text))) }
    }

    var value: JSONValue { .object(members) }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        value.append(to: &bytes)
        return bytes
    }
}

/// Builds a body of `multipart/form-data` (RFC 7578).
struct MultipartBody {
    /// Random, so that no content contains it.
    private let boundary: String
    private var bytes: [UInt8] = []

    init() {
        var text = "blobd-"
        for _ in 0..<2 {
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            text += String(repeating: "0", count: 16 - digits.count) + digits
        }
        boundary = text
    }

    var mediaType: String { "multipart/form-data; boundary=\(boundary)" }

    mutating func append(name: String, mediaType: String?, _ content: [UInt8]) {
        bytes.append(text: "--\(boundary)\r\nContent-Disposition: form-data; name=\"")
        for byte in name.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(UInt8(ascii: "\\"))
            }
            bytes.append(byte)
        }
        bytes.append("\"\r\n")
        if let mediaType { bytes.append(text: "Content-Type: \(mediaType)\r\n") }
        bytes.append("\r\n")
        bytes += content
        bytes.append("\r\n")
    }

    func finished() -> [UInt8] {
        bytes + Array("--\(boundary)--\r\n".utf8)
    }
}
