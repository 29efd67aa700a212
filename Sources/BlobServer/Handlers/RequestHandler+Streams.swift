import BlobProtocol
import BlobStore

// An owner's changes, waited for or sent as they come, in both dialects. `Worker+Feeds.swift` says
// when.

extension RequestHandler {
    /// Looks behind a reader's cursor, in a snapshot of its own, and moves the cursor behind what was
    /// found. One seek, and one lookup for each notification that is there.
    func look(_ reader: FeedReader) throws(ProtocolError) -> FeedPage {
        let snapshot: Snapshot
        do throws(StoreError) {
            snapshot = try store.makeSnapshot()
        } catch {
            throw problem(error)
        }
        let page = try changes(reader.query, in: snapshot)
        reader.query.start = .after(page.next)
        return page
    }

    // MARK: - Waits

    /// Answers a wait with a page, which may be empty.
    func answer(
        _ form: PendingReply.Form, with page: FeedPage, of owner: String,
        into batch: inout AnswerBatch
    ) {
        document.removeAll(keepingCapacity: true)
        ChangesDocument.append(page, owner: owner, store: store.id, to: &document)
        switch form {
        case .binary(let frame):
            appendCall(ResourceAnswer(status: 200), frame, into: &batch)
        case .http(var form):
            if isStopping { form.keepAlive = false }
            appendDocument(200, form, into: &batch)
        }
    }

    // MARK: - Streams

    /// Appends a page to a stream; an empty one is a heartbeat.
    func appendStream(_ reader: FeedReader, _ page: FeedPage, into batch: inout AnswerBatch) {
        switch reader.form {
        case .binary(let frame): appendWatched(page, of: reader.query.owner, frame, into: &batch)
        case .http:
            if !reader.isBegun { beginEvents(into: &batch.heads) }
            appendEvents(page, of: reader.query.owner, into: &batch.heads)
            batch.endAnswer()
        }
    }

    /// Appends the reason why a stream ends. One that has not begun is refused like any request; a
    /// stream of events that the daemon's stop ends says nothing: its reader comes again.
    func endStream(
        _ reader: FeedReader, _ error: ProtocolError, into batch: inout AnswerBatch
    ) {
        switch reader.form {
        case .binary(let frame): appendProblem(error, frame, into: &batch)
        case .http(var form) where !reader.isBegun:
            form.keepAlive = false
            appendProblem(error, form, into: &batch)
        case .http:
            guard error.code != .stopping else { return }
            counters.count(error.code)
            document.removeAll(keepingCapacity: true)
            Problem.compose(error, into: &document)
            batch.heads.append(error.code == .resync ? "event: resync\n" : "event: problem\n")
            appendData(into: &batch.heads)
            batch.endAnswer()
        }
    }

    /// The answer to a watch: how many, whether more follow, the cursor; and the page.
    private func appendWatched(
        _ page: FeedPage, of owner: String, _ frame: RequestFrame, into batch: inout AnswerBatch
    ) {
        document.removeAll(keepingCapacity: true)
        ChangesDocument.append(page, owner: owner, store: store.id, to: &document)
        ResponseFrame(
            answering: frame, status: 200, headByteCount: UInt32(Watch.Response.byteCount),
            bodyByteCount: UInt64(document.count)
        ).compose(into: &batch.heads)
        let response = Watch.Response(
            changeCount: UInt32(clamping: page.changes.count), hasMore: page.hasMore)
        response.compose(
            next: text(of: page.next, of: owner).span.bytes, into: &batch.heads)
        batch.heads.append(contentsOf: document)
        batch.endAnswer()
    }

    /// The head of a stream of events, which ends with its connection.
    private func beginEvents(into out: inout [UInt8]) {
        HTTPResponseHead.begin(200, into: &out)
        out.append(contentsOf: dateLine)
        HTTPResponseHead.prepared("Connection: close\r\n", into: &out)
        HTTPResponseHead.prepared(Self.eventFields, into: &out)
    }

    /// Appends what a HEAD is told of a stream of events: its head, behind which the connection goes
    /// on.
    func appendEventsHead(_ form: HTTPForm, into batch: inout AnswerBatch) {
        begin(200, form, into: &batch.heads)
        HTTPResponseHead.prepared(Self.eventFields, into: &batch.heads)
        batch.endAnswer()
    }

    /// A proxy must not keep events back.
    private static let eventFields: StaticString =
        "Content-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n\r\n"

    /// An event for each change. Without one, an id alone: it fires nothing, but whoever comes
    /// again later says it, and is not behind by all that concerned others meanwhile.
    private func appendEvents(_ page: FeedPage, of owner: String, into out: inout [UInt8]) {
        for change in page.changes {
            appendID(change.cursor, of: owner, to: &out)
            out.append("event: ")
            out.append(text: change.kind.name)
            out.append("\n")
            document.removeAll(keepingCapacity: true)
            ChangeDocument.append(change, owner: owner, store: store.id, to: &document)
            appendData(into: &out)
        }
        if page.changes.isEmpty {
            appendID(page.next, of: owner, to: &out)
            out.append("\n")
        }
    }

    private func appendID(_ cursor: FeedCursor, of owner: String, to out: inout [UInt8]) {
        out.append("id: ")
        cursor.append(owner: owner.utf8.span.bytes, store: store.id, to: &out)
        out.append("\n")
    }

    /// ``document``, which has no line ends, as an event's data.
    private func appendData(into out: inout [UInt8]) {
        out.append("data: ")
        out.append(contentsOf: document)
        out.append("\n\n")
    }

    private func text(of cursor: FeedCursor, of owner: String) -> [UInt8] {
        var text: [UInt8] = []
        cursor.append(owner: owner.utf8.span.bytes, store: store.id, to: &text)
        return text
    }
}
