import BlobProtocol
import BlobStore
import Notifications

/// What a body is for, and how much of it is taken.
struct BodyPlan: Sendable {
    /// Makes a change of a document that is there as a whole, on the thread of a worker or a publisher.
    typealias Reading =
        @Sendable (BodyReader, RawSpan, BodyPlan) throws(ProtocolError) -> PendingChange.Operation

    /// What it says.
    enum Kind: Sendable {
        /// A part's payload, by itself.
        case payload(PublicationDraft)
        /// A JSON document, from which a change is made.
        case document(Reply, Reading)
        /// A notification's document and files.
        case multipart(id: NotificationID?, boundary: [UInt8])
        /// A document in each line.
        case batch
        /// A blob's bytes; nil: of whatever digest.
        case heldBlob(Digest?, ttlSeconds: Int64, mediaType: MediaType)
    }

    var kind: Kind
    var device: DeviceName?
    var condition = Condition.none
    /// How the body is coded.
    var coding = BodyCoding.identity
    /// Longer ones are refused before a byte is read, where the length is said.
    var byteCountMax: Int

    /// The most bytes of a document or a batch, decoded.
    var documentByteCountMax: Int {
        if case .batch = kind { return WireLimits.batchByteCountMax }
        return WireLimits.documentByteCountMax
    }

    /// The error for a body over the limit. It names the setting of a payload's.
    var tooLarge: ProtocolError {
        let setting: String
        switch kind {
        case .payload, .heldBlob, .multipart: setting = " (max-payload)"
        default: setting = ""
        }
        return ProtocolError(
            .payloadTooLarge, "the body is over the limit of \(byteCountMax) bytes\(setting)",
            limit: byteCountMax)
    }

    /// How to answer when the writer is done.
    var reply: Reply {
        switch kind {
        case .payload(let draft):
            .publishedPart(draft.part.text, isIDAssigned: draft.texts.id == nil)
        case .document(let reply, _): reply
        case .multipart(let id, _): .published(isIDAssigned: id == nil)
        case .batch: .batch
        case .heldBlob(let digest, _, _): .held(isDigestAssigned: digest == nil)
        }
    }
}

extension BodyPlan {
    /// The plan of a document or a batch, which may be coded.
    init(document kind: Kind, _ request: EndpointRequest) {
        self.init(
            kind: kind, device: request.device, condition: request.condition,
            coding: request.coding, byteCountMax: 0)
        byteCountMax =
            coding == .identity
            ? documentByteCountMax : StoreLimits.codedByteCountMax(for: documentByteCountMax)
    }
}
