import BlobProtocol
import BlobStore
import Notifications

/// What a body is for, and how much of it is taken.
struct BodyPlan: Sendable {
    /// Makes a change of a document that is there as a whole, on the thread of a worker or a publisher.
    typealias Reading =
        @Sendable (BodyReader, RawSpan, BodyPlan) throws(ProtocolError) -> PendingChange.Operation

    enum Kind: Sendable {
        /// The bytes of a payload or a blob.
        case payload(PayloadUse)
        case document(Reply, Reading)
        case multipart(id: NotificationID?, boundary: [UInt8])
        /// A document in each line.
        case batch
    }

    var kind: Kind
    var device: DeviceName?
    var condition = Condition.none
    var coding = BodyCoding.identity
    var isOfDevice = false
    /// Longer bodies are refused before a byte is read, where the length is said.
    var byteCountMax: Int

    var documentByteCountMax: Int {
        if case .batch = kind { return WireLimits.batchByteCountMax }
        return isOfDevice ? WireLimits.deviceDocumentByteCountMax : WireLimits.documentByteCountMax
    }

    /// The error for a body over the limit. It names the setting of a payload's.
    var tooLarge: ProtocolError {
        let setting: String
        switch kind {
        case .payload, .multipart: setting = " (max-payload)"
        case .document, .batch: setting = ""
        }
        return ProtocolError(
            .payloadTooLarge, "the body is over the limit of \(byteCountMax) bytes\(setting)",
            limit: byteCountMax)
    }

    var reply: Reply {
        switch kind {
        case .payload(.publish(let draft)):
            .publishedPart(draft.part.text, isIDAssigned: draft.texts.id == nil)
        case .payload(.hold(let digest, _, _)): .held(isDigestAssigned: digest == nil)
        case .document(let reply, _): reply
        case .multipart(let id, _): .published(isIDAssigned: id == nil)
        case .batch: .batch
        }
    }
}

extension BodyPlan {
    init(document kind: Kind, _ request: EndpointRequest) {
        self.init(
            kind: kind, device: request.device, condition: request.condition,
            coding: request.coding, isOfDevice: request.scope != nil, byteCountMax: 0)
        byteCountMax =
            coding == .identity
            ? documentByteCountMax : StoreLimits.codedByteCountMax(for: documentByteCountMax)
    }
}

/// Everything a publish says but its bytes. An object: it is handed on from the head to the writer, and a copy would
/// count a reference for each of its texts.
final class PublicationDraft: Sendable {
    let texts: NotificationTexts
    let part: PartName
    let mediaType: MediaType
    let expiry: Expiry
    let condition: Condition
    /// Whose limits hold for it; nil: nobody's.
    let profile: DeviceProfile?

    init(
        _ texts: NotificationTexts, part: PartName, mediaType: MediaType, expiry: Expiry,
        condition: Condition = .none, profile: DeviceProfile?
    ) {
        self.texts = texts
        self.part = part
        self.mediaType = mediaType
        self.expiry = expiry
        self.condition = condition
        self.profile = profile
    }

    /// The limit of its bytes, which the store checks; nil: none of a profile's.
    fileprivate var limit: PartLimit? {
        profile.flatMap { profile in
            profile.attachmentByteCountMax(mediaType.text.utf8.span.bytes).map {
                PartLimit(byteCountMax: $0, name: profile.rawValue)
            }
        }
    }
}

/// What the bytes of a body become.
enum PayloadUse: Sendable {
    case publish(PublicationDraft)
    /// A blob that is kept for a while. It must have the digest, if there is one.
    case hold(Digest?, ttlSeconds: Int64, mediaType: MediaType)

    var mediaType: MediaType {
        switch self {
        case .publish(let draft): draft.mediaType
        case .hold(_, _, let mediaType): mediaType
        }
    }

    /// Throws `unsupported_attachment` for a media type that the profile's devices do not take, and
    /// `attachment_too_large` for more bytes than they take of it: 0 where that is not known yet.
    func check(byteCount: UInt64) throws(ProtocolError) {
        guard case .publish(let draft) = self, let profile = draft.profile else { return }
        try profile.check(
            byteCount: byteCount, part: draft.part.text, mediaType: draft.mediaType.text)
    }

    /// The change that stores it. Throws what it would be refused for, whatever is stored.
    func change(of payload: PreparedPayload) throws(StoreError) -> CheckedChange {
        switch self {
        case .publish(let draft):
            return try .publish(
                payload, as: draft.part, of: draft.texts, expiry: draft.expiry,
                condition: draft.condition, limit: draft.limit, asOf: .now)
        case .hold(let digest, let seconds, _):
            return try CheckedChange(
                .hold(BlobHold(payload, seconds: seconds, expected: digest)), asOf: .now)
        }
    }
}
