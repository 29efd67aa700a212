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

/// How a payload is named.
enum PayloadKey {
    /// By its notification; an empty part is the one called `payload`.
    case part(id: Slice, part: Slice)
    case digest(Digest)
}

/// What is asked for besides payloads' bytes.
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
        case .endpoint(let request):
            store.readiness(of: request.endpoint.reads, request.name.utf8.span.bytes, in: snapshot)
        case .watch(let query, _):
            store.readiness(of: .owner, query.owner.utf8.span.bytes, in: snapshot)
        case .check, .publish: .ready
        }
    }
}

/// What a connection's earlier bytes have decided for its later ones.
struct Session {
    /// Whether it came by the device socket, which answers links only.
    var isDevice = false
    /// The user at the other end, for logs.
    var userID: UInt32 = 0
    /// Told by the first byte; nil before that.
    var dialect: Dialect?
    /// Whether the binary protocol's hello has been answered.
    var isGreeted = false
    /// What has become of the next request's wait for the writer, or for another thread.
    var wait = Wait.none
    /// How far the end of an HTTP head has been looked for, in input that is not a whole head yet.
    var headScanner = HeadScanner()

    /// What has become of a wait.
    enum Wait {
        /// There was none.
        case none
        /// Every snapshot from now on has what the request reads.
        case done
        /// The daemon stops. An answer now could be older than earlier ones.
        case inVain
    }
}
