internal import Bytes
package import Notifications

/// A whole notification, to be stored with all its parts in one transaction. It takes the place of
/// everything of the one that is there, but its creation time and its place in the history.
public struct NotificationDraft: Sendable {
    /// Its id; nil to have the store assign the next decimal number that is free.
    public var id: String?
    /// The user it is for; nil: nobody, and then it is in no history and no feed.
    public var owner: String?
    /// A line of text to show.
    public var message: String?
    /// What kind of rich content it is, in the publisher's words.
    public var richType: String?
    /// The rest, title and app among it. Device and responses in it are ignored.
    public var details = NotificationDetails()
    /// When it ends.
    public var expiry: Expiry
    /// Its parts, at most 32; none is a notification of text or data alone. One without title,
    /// message, data and parts is refused as ``StoreError/emptyNotification``.
    public var parts: [DraftPart] = []
    /// The device it comes from, 1…64 bytes.
    public var device: String?
    /// What must hold of the one that is there.
    public var condition = Condition.none

    /// A notification with nothing in it yet.
    public init(id: String?, expiry: Expiry) {
        self.id = id
        self.expiry = expiry
    }
}

/// A part of a draft.
public struct DraftPart: Sendable {
    /// Where its bytes are.
    public enum Content: Sendable {
        /// Prepared, to be stored unless the store has them.
        case payload(PreparedPayload)
        /// In the store already: referred to by a part, or held.
        case stored(Digest)
    }

    /// Its name, 1…64 bytes; no two of a notification have the same.
    public var name: String
    /// Its media type (RFC 9110, section 8.3).
    public var mediaType: String
    /// Where its bytes are.
    public var content: Content
    /// The most bytes it may have; nil: as many as the store takes.
    public var limit: PartLimit?

    /// A part.
    public init(name: String, mediaType: String, content: Content) {
        self.name = name
        self.mediaType = mediaType
        self.content = content
    }
}

extension NotificationDraft {
    package subscript(field: TextField) -> String? {
        get {
            switch field {
            case .owner: owner
            case .message: message
            case .richType: richType
            case .device: device
            default: details[field]
            }
        }
        set {
            switch field {
            case .owner: owner = newValue
            case .message: message = newValue
            case .richType: richType = newValue
            case .device: device = newValue
            default: details[field] = newValue
            }
        }
    }

    func check(asOf now: Timestamp) throws(StoreError) {
        try TextKind.id.check(id)
        for field in TextField.allCases { try field.kind.check(self[field]) }
        try Rules.check(details)
        try Rules.check(expiry, asOf: now)
        try checkParts()
    }

    /// How many parts there are, what they say, how long they are, and whether one comes twice.
    func checkParts() throws(StoreError) {
        guard parts.count <= StoreLimits.partCountMax else {
            throw Rules.refuse(
                .parts, "are \(parts.count); the limit is \(StoreLimits.partCountMax)",
                limit: StoreLimits.partCountMax)
        }
        for (index, part) in parts.enumerated() {
            try TextKind.part.check(part.name)
            try TextKind.mediaType.check(part.mediaType)
            if case .payload(let payload) = part.content {
                try part.limit?.check(
                    byteCount: payload.byteCount, part: part.name, mediaType: part.mediaType)
            }
            guard !parts[..<index].contains(where: { $0.name.isSame(as: part.name) }) else {
                throw Rules.refuse(.partName, "\"\(part.name)\" is given twice")
            }
        }
    }

    var isEmpty: Bool {
        parts.isEmpty && (message ?? "").isEmpty && (details.title ?? "").isEmpty
            && details.data == nil
    }

    /// The record this makes in the place of `live`, without its parts.
    func record(id: String, asOf now: Timestamp, replacing live: Record?) -> Record {
        var record = Record(
            id: id, owner: owner, message: message, richType: richType,
            createdAt: live?.createdAt ?? now,
            expiresAt: expiry.moment(keeping: live?.expiresAt, asOf: now), revision: 0, parts: [])
        var details = details
        details.responses = []
        details.device = device
        record.details = details
        return record
    }
}
