import BlobProtocol
import BlobStore
import Notifications

/// What a body is for. An object, because a copy would retain each of its names.
final class BodyPlan: Sendable {
    /// Turns a complete document into a change, on the thread of a worker or a publisher.
    typealias Reading =
        @Sendable (BodyReader, RawSpan, BodyPlan) throws(ProtocolError) -> PendingChange.Operation

    enum Kind: Sendable {
        case payload(PayloadUse)
        case document(Reply, Reading)
        case multipart(id: NotificationID?, boundary: [UInt8])
        /// One document per line.
        case batch
    }

    let kind: Kind
    let device: DeviceName?
    let condition: Condition
    let coding: BodyCoding
    /// What a device presented, which must still be valid when the body is complete; nil: a backend.
    let grant: DeviceGrant?
    /// A longer body is refused before a byte is read, if its length is known.
    let byteCountMax: Int

    init(
        kind: Kind, device: DeviceName? = nil, condition: Condition = .none,
        coding: BodyCoding = .identity, grant: DeviceGrant? = nil, byteCountMax: Int
    ) {
        self.kind = kind
        self.device = device
        self.condition = condition
        self.coding = coding
        self.grant = grant
        self.byteCountMax = byteCountMax
    }

    var isDocument: Bool {
        switch kind {
        case .document, .batch: true
        case .payload, .multipart: false
        }
    }

    var documentByteCountMax: Int { kind.documentByteCountMax(isOfDevice: grant != nil) }

    var tooLarge: ProtocolError {
        let compressed = coding == .identity ? "" : "compressed "
        let thing =
            switch kind {
            case .payload: "payload"
            case .multipart: "form"
            case .document: "document"
            case .batch: "batch"
            }
        var error = ProtocolError(
            .payloadTooLarge,
            "the \(compressed)\(thing) is over the limit of \(byteCountMax) bytes",
            limit: byteCountMax)
        if !isDocument { error.members = [.maxPayload] }
        return error
    }

    var reply: Reply {
        switch kind {
        case .payload(.publish(let draft)):
            .part(draft.part.text, isIDAssigned: draft.texts.id == nil)
        case .payload(.hold(let digest, _, _)): .location(isAssigned: digest == nil)
        case .document(let reply, _): reply
        case .multipart(let id, _): .location(isAssigned: id == nil)
        case .batch: .nothing
        }
    }
}

extension BodyPlan {
    convenience init(document kind: Kind, _ request: EndpointRequest) {
        let max = kind.documentByteCountMax(isOfDevice: request.grant != nil)
        self.init(
            kind: kind, device: request.device, condition: request.condition,
            coding: request.coding, grant: request.grant,
            byteCountMax: request.coding == .identity
                ? max : StoreLimits.codedByteCountMax(for: max))
    }
}

extension BodyPlan.Kind {
    fileprivate func documentByteCountMax(isOfDevice: Bool) -> Int {
        if case .batch = self { return WireLimits.batchByteCountMax }
        return isOfDevice ? WireLimits.deviceDocumentByteCountMax : WireLimits.documentByteCountMax
    }
}

/// Everything that a publish states except its bytes. An object, because a copy would retain each of its texts.
final class PublicationDraft: Sendable {
    let texts: NotificationTexts
    let part: PartName
    let mediaType: MediaType
    let expiry: Expiry
    let condition: Condition
    /// The profile whose limits apply; nil: none.
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

    /// The profile's limit for the bytes, which the store checks; nil: none.
    fileprivate var limit: PartLimit? {
        profile.flatMap { profile in
            profile.attachmentByteCountMax(mediaType.text.utf8.span.bytes).map {
                PartLimit(byteCountMax: $0, name: profile.rawValue)
            }
        }
    }
}

enum PayloadUse: Sendable {
    case publish(PublicationDraft)
    /// A blob that is kept for a while. It must have this digest, if there is one.
    case hold(Digest?, ttlSeconds: Int64, mediaType: MediaType)

    var mediaType: MediaType {
        switch self {
        case .publish(let draft): draft.mediaType
        case .hold(_, _, let mediaType): mediaType
        }
    }

    /// Throws `unsupported_attachment` or `attachment_too_large` for payloads that the profile's devices do not accept.
    /// `byteCount` is 0 while it is not known.
    func check(byteCount: UInt64) throws(ProtocolError) {
        guard case .publish(let draft) = self, let profile = draft.profile else { return }
        try profile.check(
            byteCount: byteCount, part: draft.part.text, mediaType: draft.mediaType.text)
    }

    /// The change that stores it. Throws every error that does not depend on the store.
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
