import BlobProtocol
import BlobStore
import Bytes

/// A connection's position in a feed that it waits for or streams. It looks in a new snapshot each time.
final class FeedReader {
    var query: FeedQuery
    let form: PendingReply.Form
    /// A stream has one from its first look on, a wait only after a look that found nothing.
    var registration: FeedRegistration?
    var isDue = true
    /// A wait: when to answer, with or without changes. A stream: when the next heartbeat is due.
    var end: Instant
    var isBegun = false

    init(_ query: FeedQuery, _ form: PendingReply.Form, end: Instant) {
        self.query = query
        self.form = form
        self.end = end
    }

    /// Registers for the owner's changes, once. Throws ``StoreError/tooManyWatchers(limit:of:)``.
    func register(
        with watch: FeedWatch, for address: ConnectionAddress, _ peer: Peer
    ) throws(StoreError) -> FeedRegistration {
        if let registration { return registration }
        // Called on the thread that made the change: it only posts a message.
        let registration = try watch.register(
            Array(query.owner.utf8), peer: peer.userID
        ) { address.post(.feedChanged) }
        self.registration = registration
        return registration
    }
}

struct FeedQuery: Sendable {
    var owner: String
    var start: FeedStart
    var limit: Int
    var waitSeconds: Int
    /// Which notifications come with their record. Another that was changed is reported as left, unless it is of
    /// another app than the filter's; one that is gone, as gone.
    var filter = RecordFilter()
    /// What a device presented, without which it may not read; nil: a backend.
    var grant: DeviceGrant?
}

// An owner's changes, waited for or streamed. `Worker+Feeds.swift` decides when.

extension RequestHandler {
    /// Why the reader must stop: its grant is no longer valid; nil: it may continue.
    func refusal(of reader: FeedReader) -> ProtocolError? { refusal(of: &reader.query.grant) }

    /// Looks after a reader's cursor in a new snapshot, and moves the cursor.
    func look(_ reader: FeedReader) throws(ProtocolError) -> FeedPage {
        let snapshot = try asked(try store.makeSnapshot())
        let page = try changes(reader.query, in: snapshot)
        reader.query.start = .after(page.next)
        return page
    }

    func answer(
        _ form: PendingReply.Form, with page: FeedPage, of owner: String,
        into batch: inout AnswerBatch
    ) {
        respond(document(page, of: owner), isStopping ? form.last : form, into: &batch)
    }

    private func document(_ page: FeedPage, of owner: String) -> Answer {
        .document { ChangesDocument.append(page, owner: owner, store: store.id, to: &$0) }
    }

    func appendStream(_ reader: FeedReader, _ page: FeedPage, into batch: inout AnswerBatch) {
        if !reader.isBegun { observer.note(reader.form.entry, status: 200, nil, batch) }
        switch reader.form.dialect {
        case .binary(let frame):
            BinaryCodec.append(
                document(page, of: reader.query.owner), frame, continues: true, into: &batch)
        case .http: http.appendEvents(page, of: reader, store: store.id, into: &batch)
        }
    }

    /// A stream that has not begun is refused like any request. An event stream that ends at a stop is sent nothing:
    /// its reader reconnects.
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
