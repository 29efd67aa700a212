import BlobProtocol
import BlobStore
import Notifications

/// What a request of either dialect is about. Payloads are not among them: see ``PayloadKey``.
enum Resource: Sendable {
    case notification(id: NotificationID)
    case newNotification
    case batch
    case responses(id: NotificationID)
    case envelope(id: NotificationID)
    case heldBlob(Digest)
    /// A blob that is named by its bytes.
    case newBlob
    case categories
    case category(name: CategoryName)
    case owner(OwnerID)
    case ownerNotifications(OwnerID)
    case ownerChanges(OwnerID)
    case scrub
    case replication

    /// The notification's id, the owner or the category; empty where there is none.
    var name: String {
        switch self {
        case .notification(let id), .responses(let id), .envelope(let id): id.text
        case .category(let name): name.text
        case .owner(let owner), .ownerNotifications(let owner), .ownerChanges(let owner): owner.text
        case .newNotification, .batch, .heldBlob, .newBlob, .categories, .scrub, .replication: ""
        }
    }
}

/// A request for a resource, whatever its dialect. The method is one that the resource's route
/// allows (`Route.allows`), GET for HEAD.
struct ResourceRequest: Sendable {
    var method: HTTPMethod
    var resource: Resource
    /// As it came, percent-encoded.
    var query: [UInt8] = []
    /// The body's, with its parameters; nil when it was not said.
    var mediaType: MediaType?
    /// How the body is coded.
    var coding = BodyCoding.identity
    /// Who asks.
    var device: DeviceName?
    /// What must hold of the notification or the category that is there.
    var condition = Condition.none
    /// The signed link that it came by, whose parameters are in the query; nil: it came by none.
    var link: HeldLink?
    /// Whether a stream of events is asked for.
    var acceptsEvents = false
    /// The place in the feed that a stream was read up to.
    var lastEventID: [UInt8]?
}

/// What a body is for, and how much of it is taken.
struct BodyPlan: Sendable {
    /// What it says.
    enum Kind: Sendable {
        /// A part's payload, by itself.
        case payload(PublicationDraft)
        /// A notification's document; nil: the store chooses the id.
        case notification(id: NotificationID?)
        /// A notification's document and files.
        case multipart(id: NotificationID?, boundary: [UInt8])
        /// A document in each line.
        case batch
        case patch(id: NotificationID)
        case groupPatch(owner: OwnerID, group: GroupName, app: AppName?)
        case response(id: NotificationID)
        case category(name: CategoryName, app: AppName?)
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
        case .notification(let id), .multipart(let id, _): .published(isIDAssigned: id == nil)
        case .batch: .batch
        case .patch: .changed
        case .groupPatch: .groupPatched
        case .response: .responded
        case .category: .categorySet
        case .heldBlob(let digest, _, _): .held(isDigestAssigned: digest == nil)
        }
    }
}

extension BodyPlan {
    /// The plan of a document or a batch, which may be coded.
    init(
        document kind: Kind, _ request: ResourceRequest, condition: Condition = .none
    ) {
        self.init(
            kind: kind, device: request.device, condition: condition, coding: request.coding,
            byteCountMax: 0)
        byteCountMax =
            coding == .identity
            ? documentByteCountMax : StoreLimits.codedByteCountMax(for: documentByteCountMax)
    }
}

/// What is read of a feed, and for how long that may be waited for.
struct FeedQuery: Sendable {
    var owner: String
    /// Becomes the page's `next` after every look.
    var start: FeedStart
    var limit: Int
    /// 0: not at all.
    var waitSeconds: Int
    /// What is told with its record, and what as left.
    var filter = RecordFilter()
    /// The link without which it may not be read; nil: a backend asks.
    var link: HeldLink?
}
