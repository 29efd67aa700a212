import BlobProtocol
import BlobStore

/// A request of either dialect, as its codec read it: numbers, and slices of the text it was read
/// from. Names in it are checked.
enum Request {
    /// A payload's bytes. In which form is in the head, and each dialect answers it by itself.
    case fetch(PayloadKey)
    /// Anything else. Kept elsewhere, so that a fetch is short.
    indirect case perform(Action)
}

/// How a payload is named.
enum PayloadKey {
    /// By its notification; an empty part is the one called `payload`.
    case part(id: Slice, part: Slice)
    case digest(Digest)
}

/// What is asked for besides payloads.
enum Action {
    /// The daemon answers.
    case live
    /// A publish can be stored: a ping, whose body comes back, or a health check.
    case check(Reply)
    case statistics
    /// The daemon's numbers for Prometheus.
    case metrics
    /// The description of the HTTP interface.
    case openAPI
    /// All of the store, as a backup.
    case backup
    /// A page of all records, behind an id; an empty one: from the start.
    case list(after: [UInt8], limit: Int)
    /// A part's payload, which follows; nil: its length is not known.
    case publish(PublicationDraft, BodyCoding, byteCount: UInt64?)
    case resource(ResourceRequest)
    /// An owner's changes as they come, from a cursor on.
    case watch(FeedQuery, cursor: Slice)
}

/// What a request reads of the store, besides the name of the notification or the owner.
enum Reads {
    /// Nothing; or it is the writer that looks.
    case nothing
    case notification
    case owner
    case blob(Digest)
    /// Things of many names.
    case everything
}

extension Request {
    /// Whether a snapshot has what it reads.
    ///
    /// - Parameter text: what its slices are of.
    @inline(__always)
    func readiness(
        of text: RawSpan, in snapshot: borrowing Snapshot, of store: BlobStore
    ) -> Readiness {
        switch self {
        case .fetch(.part(let id, _)):
            store.readiness(of: .notification, id.of(text), in: snapshot)
        case .fetch(.digest(let digest)):
            store.readiness(of: .blob(digest), RawSpan(), in: snapshot)
        case .perform(let action): action.readiness(of: text, in: snapshot, of: store)
        }
    }
}

extension Action {
    fileprivate func readiness(
        of text: RawSpan, in snapshot: borrowing Snapshot, of store: BlobStore
    ) -> Readiness {
        switch self {
        case .list, .backup: return store.readiness(of: .everything, RawSpan(), in: snapshot)
        case .watch(let query, _):
            return store.readiness(of: .owner, query.owner.utf8.span.bytes, in: snapshot)
        case .resource(let request):
            let name = request.resource.name
            return store.readiness(of: request.reads, name.utf8.span.bytes, in: snapshot)
        case .live, .check, .statistics, .metrics, .openAPI, .publish: return .ready
        }
    }
}

extension ResourceRequest {
    /// What it reads before it is for the writer.
    fileprivate var reads: Reads {
        guard method == .get else { return .nothing }
        return switch resource {
        case .notification, .envelope: .notification
        case .categories, .category: .everything
        case .ownerNotifications, .ownerChanges: .owner
        default: .nothing
        }
    }
}
