import BlobProtocol
import BlobStore

/// What a request of either dialect is about. Payloads are not among them: see ``PayloadKey``.
enum Resource: Sendable {
    case notification(id: String)
    case newNotification
    case batch
    case responses(id: String)
    case envelope(id: String)
    case heldBlob(Digest)
    /// A blob that is named by its bytes.
    case newBlob
    case categories
    case category(name: String)
    case owner(String)
    case ownerNotifications(String)
    case ownerChanges(String)

    /// The notification's id, the owner or the category; empty where there is none.
    var name: String {
        switch self {
        case .notification(let id), .responses(let id), .envelope(let id): id
        case .category(let name): name
        case .owner(let owner), .ownerNotifications(let owner), .ownerChanges(let owner): owner
        case .newNotification, .batch, .heldBlob, .newBlob, .categories: ""
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
    var mediaType: [UInt8]?
    /// How the body is coded.
    var coding = Coding.identity
    /// Who asks, checked.
    var device: String?
    /// What must hold of the notification or the category that is there.
    var condition = Condition.none
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
        case notification(id: String?)
        /// A notification's document and files.
        case multipart(id: String?, boundary: [UInt8])
        /// A document in each line.
        case batch
        case patch(id: String)
        case groupPatch(owner: String, group: String, app: String?)
        case response(id: String)
        case category(name: String, app: String?)
        /// A blob's bytes; nil: of whatever digest.
        case heldBlob(Digest?, ttlSeconds: Int64, mediaType: String)
    }

    var kind: Kind
    var device: String?
    var condition = Condition.none
    /// How the body is coded.
    var coding = Coding.identity
    /// Longer ones are refused before a byte is read, where the length is said.
    var byteCountMax: Int

    /// How to answer when the writer is done.
    var reply: Reply {
        switch kind {
        case .payload(let draft): .publishedPart(draft.part, isIDAssigned: draft.id == nil)
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
}
