import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// Writes HTTP's answers. Caches the date line, which all answers of a second share.
final class HTTPCodec {
    @exclusivity(unchecked) private var dateLine: [UInt8] = []
    @exclusivity(unchecked) private(set) var payloadHead = PayloadHead()
    private var dateSecond: Int64 = -1
    /// The batch that the answer to a change names; nil: none.
    var sequence: SequenceToken?

    func setDate(seconds: Int64) {
        guard seconds != dateSecond else { return }
        dateSecond = seconds
        dateLine.removeAll(keepingCapacity: true)
        HTTPResponseHead.date(seconds: seconds, into: &dateLine)
        payloadHead.setDate(seconds: seconds)
    }

    func append(
        _ response: Answer, _ form: HTTPForm, hint: AnswerHint?, into batch: inout AnswerBatch
    ) {
        switch response {
        case .document(let document): append(document, form, into: &batch)
        case .published(let record, _, let created, let isIDAssigned):
            var document = Answer.Document(
                status: created ? 201 : 200, location: isIDAssigned ? record.path : nil)
            document.body.reserveCapacity(RecordDocument.usualByteCount)
            RecordDocument.append(record, to: &document.body)
            append(document, form, into: &batch)
        case .problem(let error): append(error, form, hint, into: &batch)
        }
    }

    private func append(
        _ document: Answer.Document, _ form: HTTPForm, into batch: inout AnswerBatch
    ) {
        begin(document.status, form, into: &batch.heads)
        if let revision = document.revision {
            batch.heads.append("ETag: ")
            RevisionTags.append(revision, to: &batch.heads)
            batch.heads.append("\r\n")
        }
        if let location = document.location {
            HTTPResponseHead.field("Location", location.utf8.span.bytes, into: &batch.heads)
        }
        guard document.status != 204, document.status != 304 else {
            // A 304 has the fields that its 200 would have (RFC 9110, section 15.4.5).
            batch.heads.append(Self.noStore)
            batch.heads.append("\r\n")
            return batch.endAnswer()
        }
        end(document.mediaType, document.body, form, into: &batch)
    }

    private func append(
        _ error: ProtocolError, _ form: HTTPForm, _ hint: AnswerHint?,
        into batch: inout AnswerBatch
    ) {
        begin(error.status, form, into: &batch.heads)
        if let challenge = error.code.challenge {
            HTTPResponseHead.field("WWW-Authenticate", challenge, into: &batch.heads)
        }
        if let hint {
            HTTPResponseHead.field(hint.name, hint.value.utf8.span.bytes, into: &batch.heads)
        }
        if error.status == 503 {
            HTTPResponseHead.field(
                "Retry-After", ProtocolError.retryAfterSeconds, into: &batch.heads)
        }
        if error.code == .badRange, let byteCount = error.limit {
            let range = "bytes */\(byteCount)"
            HTTPResponseHead.field("Content-Range", range.utf8.span.bytes, into: &batch.heads)
        }
        var body: [UInt8] = []
        Problem.compose(error, into: &body)
        end(Problem.mediaType, body, form, into: &batch)
    }

    private func begin(_ status: UInt16, _ form: HTTPForm, into out: inout [UInt8]) {
        HTTPResponseHead.begin(status, into: &out)
        out.append(contentsOf: dateLine)
        if !form.keepAlive {
            HTTPResponseHead.field("Connection", "close", into: &out)
        } else if form.isHTTP10 {
            HTTPResponseHead.field("Connection", "keep-alive", into: &out)
        }
        if let sequence {
            HTTPResponseHead.field(
                SequenceToken.fieldName, sequence.text.utf8.span.bytes, into: &out)
        }
    }

    private func end(
        _ mediaType: StaticString, _ body: [UInt8], _ form: HTTPForm, into batch: inout AnswerBatch
    ) {
        batch.heads.append("Content-Type: ")
        batch.heads.append(mediaType)
        batch.heads.append("\r\nContent-Length: ")
        Decimal.append(UInt64(body.count), to: &batch.heads)
        batch.heads.append("\r\n")
        batch.heads.append(Self.noStore)
        batch.heads.append("\r\n")
        if !form.isHead { batch.heads.append(contentsOf: body) }
        batch.endAnswer()
    }

    private static let noStore: StaticString = "Cache-Control: no-store\r\n"

    /// Appends an event for each change. Without changes, only an id: a reader that reconnects later need not skip all
    /// that happened to others meanwhile.
    func appendEvents(
        _ page: FeedPage, of reader: FeedReader, store: StoreID, into batch: inout AnswerBatch
    ) {
        if !reader.isBegun {
            begin(200, .last, into: &batch.heads)
            batch.heads.append(Self.eventFields)
        }
        let owner = reader.query.owner
        for change in page.changes {
            append(id: change.cursor, of: owner, store, to: &batch.heads)
            batch.heads.append("event: ")
            batch.heads.append(text: change.kind.name)
            batch.heads.append("\ndata: ")
            // The document contains no line ends.
            ChangesDocument.append(change, owner: owner, store: store, to: &batch.heads)
            batch.heads.append("\n\n")
        }
        if page.changes.isEmpty {
            append(id: page.next, of: owner, store, to: &batch.heads)
            batch.heads.append("\n")
        }
        batch.endAnswer()
    }

    private func append(
        id cursor: FeedCursor, of owner: String, _ store: StoreID, to out: inout [UInt8]
    ) {
        out.append("id: ")
        cursor.append(owner: owner.utf8.span.bytes, store: store, to: &out)
        out.append("\n")
    }

    func appendEventsEnd(_ error: ProtocolError, into batch: inout AnswerBatch) {
        batch.heads.append(
            error.code == .resync ? "event: resync\ndata: " : "event: problem\ndata: ")
        Problem.compose(error, into: &batch.heads)
        batch.heads.append("\n\n")
        batch.endAnswer()
    }

    func appendEventsHead(_ form: HTTPForm, into batch: inout AnswerBatch) {
        begin(200, form, into: &batch.heads)
        batch.heads.append(Self.eventFields)
        batch.endAnswer()
    }

    func appendBackupHead(_ form: HTTPForm, into batch: inout AnswerBatch) {
        begin(200, form.ofUnknownLength, into: &batch.heads)
        if !form.isHTTP10 {
            batch.heads.append("Transfer-Encoding: chunked\r\n")
        }
        batch.heads.append(Self.backupFields)
        batch.endAnswer()
    }

    /// Appends a piece of a backup as a chunk (RFC 9112, section 7.1). An empty piece is the last.
    func appendBackup(_ bytes: [UInt8], _ form: HTTPForm, into batch: inout AnswerBatch) {
        guard !form.isHTTP10 else {
            batch.heads += bytes
            return batch.endAnswer()
        }
        batch.heads += Array(String(bytes.count, radix: 16).utf8)
        batch.heads.append("\r\n")
        batch.heads += bytes
        batch.heads.append("\r\n")
        batch.endAnswer()
    }

    private static let backupFields: StaticString =
        "Content-Type: application/vnd.blobd.backup\r\nCache-Control: no-store\r\n\r\n"

    /// A proxy must not buffer events.
    private static let eventFields: StaticString =
        "Content-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n\r\n"
}

extension Record {
    var path: String { "/v1/notifications/\(PercentCoding.encoded(id))" }
}

extension ErrorCode {
    /// What `WWW-Authenticate` says to a device without a sufficient token (RFC 6750, section 3); nil for other errors.
    fileprivate var challenge: StaticString? {
        switch self {
        case .badToken: "Bearer"
        case .insufficientScope: "Bearer error=\"insufficient_scope\", scope=\"read write\""
        default: nil
        }
    }
}

/// A field of an error's answer that says what the client could ask for instead (RFC 9110, sections 15.5.6 and 15.5.16;
/// RFC 5789, section 2.2).
struct AnswerHint {
    let name: StaticString
    let value: String

    /// - Parameter interface: the socket, which other calls may not have.
    init?(
        _ error: ProtocolError, _ head: HTTPRequestHead, _ bytes: RawSpan,
        on interface: Endpoint.Interfaces
    ) {
        let path = head.path.of(bytes)
        switch error.code {
        case .methodNotAllowed:
            name = "Allow"
            value =
                Endpoint.methods(of: path, on: interface) ?? Endpoint.methods(on: interface)
        case .unsupportedContentCoding:
            name = "Accept-Encoding"
            value = Self.isMultipart(head, bytes) ? "identity" : "gzip, deflate, identity"
        case .unsupportedMediaType:
            name = head.method == .patch ? "Accept-Patch" : "Accept"
            let endpoint = try? Endpoint.find(head.method, path, on: interface).endpoint
            value = (endpoint?.body.mediaTypes ?? "application/json").description
        default: return nil
        }
    }

    private static func isMultipart(_ head: HTTPRequestHead, _ bytes: RawSpan) -> Bool {
        guard let type = head.contentType?.of(bytes) else { return false }
        return MediaType.isType(type, "multipart/form-data")
    }
}
