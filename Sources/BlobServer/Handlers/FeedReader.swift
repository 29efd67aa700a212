import BlobProtocol
import BlobStore

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
