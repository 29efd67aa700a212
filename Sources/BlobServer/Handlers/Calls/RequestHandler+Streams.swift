import BlobProtocol
import BlobStore

// An owner's changes, waited for or sent as they come, in both dialects. `Worker+Feeds.swift` says
// when.

extension RequestHandler {
    /// Whether a reader may go on: the link by which it came, if it did, is still valid.
    func isPermitted(_ reader: FeedReader) -> Bool {
        reader.query.link?.isValid(asOf: now, links) ?? true
    }

    /// Looks behind a reader's cursor, in a snapshot of its own, and moves the cursor behind what was
    /// found. One seek, and one lookup for each notification that is there.
    func look(_ reader: FeedReader) throws(ProtocolError) -> FeedPage {
        let snapshot = try asked { () throws(StoreError) in try store.makeSnapshot() }
        let page = try changes(reader.query, in: snapshot)
        reader.query.start = .after(page.next)
        return page
    }

    /// Answers a wait with a page, which may be empty.
    func answer(
        _ form: PendingReply.Form, with page: FeedPage, of owner: String,
        into batch: inout AnswerBatch
    ) {
        let response = Response.document {
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

    /// Appends the reason why a stream ends. One that has not begun is refused like any request; a
    /// stream of events that the daemon's stop ends says nothing: its reader comes again.
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
