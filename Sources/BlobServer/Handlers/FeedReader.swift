import BlobProtocol
import BlobStore
import Bytes

/// Where a connection is in a feed that it waits for, or that it is sent as it grows. It holds no
/// snapshot: it looks in a new one each time there may be something.
final class FeedReader {
    /// Whose changes, how many in one answer, and from which cursor on.
    var query: FeedQuery
    /// How it is answered.
    let form: PendingReply.Form
    /// Its registration among the waiting. Nil before the first look that found nothing.
    var registration: FeedRegistration?
    /// Whether there may be something to be looked at.
    var isDue = true
    /// A wait: when it is answered, changes or none. A stream: when the next heartbeat is due.
    var end: Instant
    /// A stream: whether its first answer has been written.
    var isBegun = false

    init(_ query: FeedQuery, _ form: PendingReply.Form, end: Instant) {
        self.query = query
        self.form = form
        self.end = end
    }

    /// Registers for for the owner's changes, unless it has one.
    ///
    /// - Throws: ``StoreError/tooManyWatchers(limit:of:)``.
    func register(
        with watch: FeedWatch, for address: ConnectionAddress, _ peer: Peer
    ) throws(StoreError) -> FeedRegistration {
        if let registration { return registration }
        // On the thread that commits: all it does is to leave a word.
        let registration = try watch.register(
            Array(query.owner.utf8), peer: peer.userID
        ) { address.post(.feedChanged) }
        self.registration = registration
        return registration
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
    var link: FeedLink?
}

/// A device's link by which a wait or a stream was asked for. Neither outlives it: at its expiry, and when its
/// key is removed, the client is told what a new request would be told.
struct FeedLink: Sendable {
    /// As it was sent, which is what was signed.
    private let path: [UInt8]
    private let query: [UInt8]
    /// Seconds since 1970. At this second it is not valid any more.
    private let expiresAt: Int64
    /// The keys that it was checked with last (``LinkKeys/Version``).
    private var keysNumber: UInt64

    /// Nil where the link is not valid.
    init?(path: RawSpan, query: RawSpan, asOf now: Timestamp, _ keys: LinkKeys) {
        let version = keys.version
        guard let known = version.keys,
            let expiresAt = SignedLink.expiry(
                path: path, query: query, now: now.milliseconds / 1_000, keys: known)
        else { return nil }
        self.path = path.array()
        self.query = query.array()
        self.expiresAt = expiresAt
        keysNumber = version.number
    }

    /// Whether it is valid now. Computes a signature only where keys have been read since the last call.
    mutating func isValid(asOf now: Timestamp, _ keys: LinkKeys) -> Bool {
        let seconds = now.milliseconds / 1_000
        guard seconds < expiresAt else { return false }
        let version = keys.version
        guard version.number != keysNumber else { return true }
        guard let known = version.keys,
            SignedLink.isValid(
                path: path.span.bytes, query: query.span.bytes, now: seconds, keys: known)
        else { return false }
        keysNumber = version.number
        return true
    }
}
