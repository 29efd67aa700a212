public import BlobProtocol

/// What to store, besides the bytes. What is nil stays as it is where the notification is there
/// already; `patch` clears a text. The limits are those of the protocol (`WireLimits`) and are
/// checked before anything is sent.
public struct PutRequest: Sendable, Hashable {
    /// How long a notification lives.
    public enum Lifetime: Sendable, Hashable {
        /// Not said. A notification that is there keeps its expiry; a new one lives as long as the
        /// daemon gives what comes without a lifetime (`DaemonInfo.defaultTTLSeconds`).
        case standard
        /// So many seconds from when the daemon takes it, at least 1.
        case seconds(Int64)
        /// Until a moment, in milliseconds since 1970-01-01T00:00:00Z.
        case until(milliseconds: Int64)
    }

    /// The notification's id, 1…255 bytes of UTF-8 without control characters and `/`; nil: the
    /// daemon chooses one, and the answer tells it.
    public var id: String?
    /// The part's name; nil: `payload`.
    public var part: String?
    /// The media type; nil: `application/octet-stream`.
    public var mediaType: String?
    /// The user the notification is for.
    public var owner: String?
    /// Which of the user's apps it is for, 1…64 bytes; nil: the one it is for already.
    public var app: String?
    /// A line above the text, at most 256 bytes.
    public var title: String?
    /// The notification's text, at most 4,096 bytes.
    public var message: String?
    /// What kind of rich notification it is, such as `img`.
    public var richType: String?
    /// How long it lives.
    public var lifetime: Lifetime
    /// The devices that must take it, `ios` or `android`: what they do not take is refused with
    /// `attachment_too_large` or `unsupported_attachment`. Nil: none but the daemon's own.
    public var profile: String?
    /// How the bytes are coded that are given with it. Of a gzip coding, what is inside is the
    /// payload: its digest and length are those in the receipt.
    public var coding: WireCoding

    /// A request with these; everything but the id may be left to the daemon's defaults.
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

    /// The same as the protocol has it. Throws `invalid` for an id, a part and so on that is there
    /// but empty, which the wire cannot tell from one that is absent.
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
