import BlobProtocol
import BlobStore

/// A request of either dialect, as its codec read it: numbers, and slices of the text it was read
/// from. Names in it are checked.
enum Request {
    /// A payload's bytes. In which form is in the head, and each dialect answers it by itself.
    case fetch(PayloadKey)
    /// Anything else: an object or a box, so that a fetch is short.
    case perform(Action)
}

enum PayloadKey {
    /// By its notification; an empty part is the one called `payload`.
    case part(id: Slice, part: Slice)
    case digest(Digest)
}

enum Action {
    /// A call of the table, in HTTP or in a frame.
    case endpoint(EndpointRequest)
    // The other frames.
    /// A publish can be stored: a ping, whose body comes back.
    case check(Reply)
    /// A part's payload, which follows; nil: its length is not known.
    case publish(PublicationDraft, BodyCoding, byteCount: UInt64?)
    /// An owner's changes as they come, from a cursor on.
    indirect case watch(FeedQuery, cursor: Slice)
}

/// What a request reads of the store, besides the name of the notification or the owner.
enum Reads: Sendable {
    /// Nothing; or it is the writer that looks.
    case nothing
    case notification
    case owner
    case blob(Digest)
    case everything
}

extension Request {
    /// Whether a snapshot has what it reads. Its slices are of `text`.
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
        case .endpoint(let request):
            store.readiness(of: request.endpoint.reads, request.name.utf8.span.bytes, in: snapshot)
        case .watch(let query, _):
            store.readiness(of: .owner, query.owner.utf8.span.bytes, in: snapshot)
        case .check, .publish: .ready
        }
    }
}

/// Whether a snapshot has all that was acknowledged before a request came, and must be in its answer.
/// The writer commits a little later than it acknowledges.
enum Readiness {
    case ready
    /// What is read may have changes in the log alone.
    case pendingCommit
    /// There was a commit since the snapshot was opened.
    case staleSnapshot
}

extension BlobStore {
    /// Whether a snapshot has all changes of what is read that were acknowledged before this call; `name` is the
    /// notification's id or the owner. The snapshot is asked last: what was committed before the filter said "no" is
    /// in it, or it says that it is too old.
    @inline(__always)
    func readiness(
        of reads: Reads, _ name: RawSpan, in snapshot: borrowing Snapshot
    ) -> Readiness {
        let isPending: Bool
        switch reads {
        case .nothing: return .ready
        case .notification: isPending = pendingKeys.mayContain(name)
        case .owner: isPending = pendingKeys.mayContain(owner: name)
        case .blob(let digest): isPending = pendingKeys.mayContain(digest)
        case .everything: isPending = !pendingKeys.isEmpty
        }
        if isPending { return .pendingCommit }
        return snapshot.isCurrent ? .ready : .staleSnapshot
    }
}

/// What a connection's earlier bytes have decided for its later ones.
struct Session {
    /// Whether it came by the device socket, which answers links only.
    var isDevice = false
    var userID: UInt32 = 0
    /// Told by the first byte; nil before that.
    var dialect: Dialect?
    var isGreeted = false
    /// What has become of the next request's wait for the writer, or for another thread.
    var wait = Wait.none
    /// How far the end of an HTTP head has been looked for, in input that is not a whole head yet.
    var headScanner = HeadScanner()

    enum Wait {
        case none
        /// Every snapshot from now on has what the request reads.
        case done
        /// The daemon stops. An answer now could be older than earlier ones.
        case inVain
    }
}
