import BlobProtocol
import BlobStore
import Bytes

/// Where a connection is in a feed that it waits for, or that it is sent as it grows. It holds no
/// snapshot: it looks in a new one each time there may be something.
final class FeedReader {
    /// Whose changes, how many in one answer, and from which cursor on.
    var query: FeedQuery
    let form: PendingReply.Form
    /// Its registration among the waiting. Nil before the first look that found nothing.
    var registration: FeedRegistration?
    var isDue = true
    /// A wait: when it is answered, changes or none. A stream: when the next heartbeat is due.
    var end: Instant
    var isBegun = false

    init(_ query: FeedQuery, _ form: PendingReply.Form, end: Instant) {
        self.query = query
        self.form = form
        self.end = end
    }

    /// Registers for the owner's changes, unless it has. Throws ``StoreError/tooManyWatchers(limit:of:)``.
    func register(
        with watch: FeedWatch, for address: ConnectionAddress, _ peer: Peer
    ) throws(StoreError) -> FeedRegistration {
        if let registration { return registration }
        // Called on the thread that commits: it only leaves a message.
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
    var start: FeedStart
    var limit: Int
    /// 0: not at all.
    var waitSeconds: Int
    /// What is told with its record, and what as left.
    var filter = RecordFilter()
    /// What a device showed, without which it may not be read; nil: a backend asks.
    var grant: DeviceGrant?
}

// An owner's changes, waited for or sent as they come, in both dialects. `Worker+Feeds.swift` says
// when.

extension RequestHandler {
    /// Why what the device showed that this reader is of is not valid any more; nil: it is valid, or a backend asks.
    func refusal(of reader: FeedReader) -> ProtocolError? {
        guard reader.query.grant?.isValid(asOf: now, links) == false else { return nil }
        return reader.query.grant?.refusal
    }

    /// Looks after a reader's cursor, in a new snapshot, and moves the cursor. One seek, and one lookup for each
    /// notification that is there.
    func look(_ reader: FeedReader) throws(ProtocolError) -> FeedPage {
        let snapshot = try asked(try store.makeSnapshot())
        let page = try changes(reader.query, in: snapshot)
        reader.query.start = .after(page.next)
        return page
    }

    /// Answers a wait with a page, which may be empty.
    func answer(
        _ form: PendingReply.Form, with page: FeedPage, of owner: String,
        into batch: inout AnswerBatch
    ) {
        let response = Answer.document {
            ChangesDocument.append(page, owner: owner, store: store.id, to: &$0)
        }
        respond(response, isStopping ? form.last : form, into: &batch)
    }

    /// Appends a page to a stream; an empty one is a heartbeat.
    func appendStream(_ reader: FeedReader, _ page: FeedPage, into batch: inout AnswerBatch) {
        if !reader.isBegun { observer.note(reader.form.entry, status: 200, nil, batch) }
        switch reader.form.dialect {
        case .binary(let frame):
            BinaryCodec.appendWatched(
                page, of: reader.query.owner, store: store.id, frame, into: &batch)
        case .http: http.appendEvents(page, of: reader, store: store.id, into: &batch)
        }
    }

    /// Appends the reason why a stream ends. One that has not begun is refused like any request; a stream of events
    /// that the daemon's stop ends says nothing: its reader reconnects.
    func endStream(
        _ reader: FeedReader, _ error: ProtocolError, into batch: inout AnswerBatch
    ) {
        guard case .http = reader.form.dialect, reader.isBegun else {
            return refuse(reader.form.last, error, into: &batch)
        }
        guard error.code != .stopping else { return }
        counters.count(error.code)
        http.appendEventsEnd(error, into: &batch)
    }
}
