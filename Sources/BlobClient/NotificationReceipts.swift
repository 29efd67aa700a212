/// What a publish of a whole notification has done. It is on the daemon's disk.
public struct PublishReceipt: Sendable, Hashable {
    /// The notification as it is now; its id also when the daemon chose it.
    public let notification: NotificationRecord
    /// Whether there was none before.
    public let isCreated: Bool

    init(_ answer: CallAnswer) throws(ClientError) {
        notification = try NotificationRecord(document: answer.body)
        isCreated = answer.status == 201
    }
}

/// What came of one notification of a batch.
public struct BatchResult: Sendable, Hashable {
    /// Its id; nil when it was refused.
    public let id: String?
    /// HTTP's number for the outcome: 201 created, 200 replaced, 400 and more: refused.
    public let status: Int
    /// The change that stored it, or nil.
    public let revision: UInt64?
    /// The stable name of what is wrong, or nil.
    public let code: String?
    /// What is wrong, in words, or nil.
    public let detail: String?

    init(_ reader: DocumentReader) throws(ClientError) {
        id = try reader.optionalText("id")
        status = try reader.integer("status")
        revision = try reader.optionalInteger("revision")
        code = try reader.optionalText("code")
        detail = try reader.optionalText("detail")
    }
}

/// A blob that was sent ahead of the notifications that will refer to it.
public struct HeldBlobReceipt: Sendable, Hashable {
    /// What they refer to it by.
    public let digest: PayloadDigest
    /// Whether the daemon did not have it before.
    public let isCreated: Bool
    /// How many bytes were given.
    public let byteCount: Int64
    /// How many bytes they take in the store.
    public let storedByteCount: Int64
    /// How they are stored: `identity` or `gzip`.
    public let coding: String
    /// Until when it is kept though nothing refers to it, in RFC 3339.
    public let heldUntil: String

    init(_ answer: CallAnswer) throws(ClientError) {
        let reader = try DocumentReader(answer.body)
        let text = try reader.text("digest")
        guard let digest = PayloadDigest(text) else {
            throw .protocolViolation("invalid digest \(text)")
        }
        self.digest = digest
        isCreated = answer.status == 201
        byteCount = try reader.integer("byte_count")
        storedByteCount = try reader.integer("stored_byte_count")
        coding = try reader.text("coding")
        heldUntil = try reader.text("held_until")
    }
}

/// What a response has done.
public struct ResponseReceipt: Sendable, Hashable {
    /// The notification as it is now.
    public let notification: NotificationRecord
    /// Whether it was recorded by this call; false: its key was known already.
    public let isNew: Bool

    init(_ answer: CallAnswer) throws(ClientError) {
        notification = try NotificationRecord(document: answer.body)
        isNew = answer.status == 201
    }
}

/// What the change of a whole group has done.
public struct GroupReceipt: Sendable, Hashable {
    /// How many notifications the group has.
    public let matchedCount: Int
    /// How many of them were changed; the others were so already.
    public let changedCount: Int

    init(_ reader: DocumentReader) throws(ClientError) {
        matchedCount = try reader.integer("matched")
        changedCount = try reader.integer("changed")
    }
}

/// The push that tells a device of a notification.
public struct RenderedEnvelope: Sendable, Hashable {
    /// `application/json` or `text/xml`.
    public let mediaType: String
    /// What to send to the provider, as it is.
    public let bytes: [UInt8]
    /// The fields of the request that carries it, beside those that say who sends it and to whom.
    public let headers: [Header]

    /// A field of the request to the provider.
    public struct Header: Sendable, Hashable {
        /// Its name, as the provider's documentation writes it.
        public let name: String
        /// Its value.
        public let value: String
    }

    /// The value of a field, whose name may be written in any case; nil when there is none.
    public subscript(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    init(_ reader: DocumentReader) throws(ClientError) {
        mediaType = try reader.text("media_type")
        headers = try reader.textMembers("headers").map { Header(name: $0.name, value: $0.value) }
        bytes = Array(try reader.text("body").utf8)
    }
}

/// Whose push service.
public enum EnvelopePlatform: String, Sendable, Hashable, CaseIterable {
    /// Apple's.
    case apns
    /// Google's.
    case fcm
    /// Microsoft's.
    case wns
}

/// How a push shows itself.
public enum EnvelopeStyle: String, Sendable, Hashable, CaseIterable {
    /// Not at all: it wakes the app, which fetches and shows. Systems delay or drop such pushes, and iOS
    /// starts no app for one that its user has ended.
    case silent
    /// As a text, which the system shows even where the app does not run. The app may complete it before
    /// it is shown.
    case alert
}
