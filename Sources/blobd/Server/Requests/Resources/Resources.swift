import BlobProtocol
import BlobStore

/// What a request of either dialect is about.
enum Resource: Sendable {
    case notification(id: String)
    case newNotification
    case batch
    case responses(id: String)
    case envelope(id: String)
    case heldBlob(Digest)
    case categories
    case category(name: String)
    case owner(String)
    case ownerNotifications(String)
    case ownerChanges(String)
}

/// A request for a resource, whatever its dialect.
struct ResourceRequest: Sendable {
    var method: HTTPMethod
    var resource: Resource
    /// As it came, percent-encoded.
    var query: [UInt8] = []
    var mediaType: [UInt8]?
    var device: String?
    var condition = Condition.none
    /// Whether a stream of events is asked for.
    var acceptsEvents = false
    var lastEventID: [UInt8]?
}

/// The answer to one; its body is `RequestHandler.document`.
struct ResourceAnswer: Sendable {
    var status: UInt16
    var mediaType: StaticString = "application/json"
    /// The notification's, for an entity tag.
    var revision: UInt64?
    /// A path.
    var location: String?
}

/// What is to be done for a request.
enum ResourceStep {
    case answer(ResourceAnswer)
    /// A body comes first.
    case receive(BodyPlan)
    case change(PendingChange.Operation, ResourceReply)
    case wait(FeedQuery)
    case stream(FeedQuery)
}

/// What a body is for, and how much of it is taken.
struct BodyPlan: Sendable {
    enum Kind: Sendable {
        case notification(id: String?)
        case multipart(id: String?, boundary: [UInt8])
        case batch
        case patch(id: String)
        case groupPatch(owner: String, group: String)
        case response(id: String)
        case category(name: String)
        case heldBlob(Digest, ttlSeconds: Int64, mediaType: String)
    }
    var kind: Kind
    var request: ResourceRequest
    var byteCountMax: Int
    var memoryByteCount: Int
}

/// How to answer when the writer is done.
enum ResourceReply: Sendable {
    case published(isIDAssigned: Bool)
    case changed
    case responded
    case removed
    case batch(ids: [String?])
    case held
    case categorySet
    case groupPatched
    case ownerDeleted
}

/// What is waited for.
struct FeedQuery: Sendable {
    var owner: String
    /// Becomes the page's `next` after every look.
    var start: FeedStart
    var limit: Int
    /// 0: not at all.
    var waitSeconds: Int
}

// Into ChangeResult: changed(Record), unchanged(Record), held(HeldBlob, created: Bool), categorySet(Category, created: Bool), many([ChangeResult]), long(LongChange)
// Into PendingChange.Operation: applyAll([Change]), long(LongChange)
// Into PendingReply.Request: resource(ResourceReply). Into RequestHandler.Step: receive(BodyPlan, PendingReply.Form), wait(FeedQuery, PendingReply.Form), stream(FeedQuery, PendingReply.Form)
// Into Connection.Phase: awaitingFeed(FeedWait), streaming(FeedStream)   (final classes of package E). Into WorkerMessage.Content: feedChanged
