public import BlobProtocol

/// What to store, besides the bytes. If the notification exists, nil keeps a value; `patch` clears it.
/// The protocol's limits (`WireLimits`) are checked before anything is sent.
public struct PutRequest: Sendable, Hashable {
    /// How long a notification lives.
    public enum Lifetime: Sendable, Hashable {
        /// An existing notification keeps its expiry; a new one gets `DaemonInfo.defaultTTLSeconds`.
        case standard
        /// So many seconds from its arrival at the daemon, at least 1.
        case seconds(Int64)
        /// Until a moment, in milliseconds since 1970-01-01T00:00:00Z.
        case until(milliseconds: Int64)
    }

    /// The notification's id, 1…255 bytes of UTF-8 without control characters and `/`; nil: the
    /// daemon chooses one.
    public var id: String?
    /// The part's name; nil: `payload`.
    public var part: String?
    /// The media type; nil: `application/octet-stream`.
    public var mediaType: String?
    /// The user the notification is for.
    public var owner: String?
    /// Which of the user's apps it is for, 1…64 bytes.
    public var app: String?
    /// A line above the text, at most 256 bytes.
    public var title: String?
    /// The notification's text, at most 4,096 bytes.
    public var message: String?
    /// What kind of rich notification it is, such as `img`.
    public var richType: String?
    /// How long it lives.
    public var lifetime: Lifetime
    /// The devices that must accept it, `ios` or `android`: otherwise it is refused with
    /// `attachment_too_large` or `unsupported_attachment`. Nil: the daemon's own setting.
    public var profile: String?
    /// How the given bytes are coded. The payload, with its digest and length, is what they decode to.
    public var coding: WireCoding

    /// A request.
    public init(
        id: String?, part: String? = nil, mediaType: String? = nil, owner: String? = nil,
        app: String? = nil, title: String? = nil, message: String? = nil, richType: String? = nil,
        lifetime: Lifetime = .standard, profile: String? = nil, coding: WireCoding = .identity
    ) {
        self.id = id
        self.part = part
        self.mediaType = mediaType
        self.owner = owner
        self.app = app
        self.title = title
        self.message = message
        self.richType = richType
        self.lifetime = lifetime
        self.profile = profile
        self.coding = coding
    }

    func draft() throws(ClientError) -> Put.Draft {
        try refuseEmpty([
            (id, .badID, "id"), (part, .badPart, "part name"),
            (mediaType, .badMediaType, "media type"),
        ])
        var draft = Put.Draft(
            id: id, part: part, mediaType: mediaType, owner: owner, richType: richType,
            message: message, app: app, title: title)
        draft.profile = Array((profile ?? "").utf8)
        draft.coding = coding
        switch lifetime {
        case .standard: break
        case .seconds(let seconds): draft.ttlSeconds = seconds
        case .until(let milliseconds): draft.expiryMilliseconds = milliseconds
        }
        return draft
    }
}
