import BlobProtocol
import BlobStore

// HTTP's requests: which resource and method they name, and what is checked before a body is taken
// in. `HTTPAnswers.swift` writes the answers.

extension RequestHandler {
    /// Answers the HTTP request at the start of `bytes`.
    func nextHTTP(
        _ bytes: RawSpan, of connection: inout Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        var head = HTTPRequestHead()
        do throws(ProtocolError) {
            guard let count = try head.read(bytes, resuming: &connection.headScanner) else {
                return .needsInput
            }
            consumed = count
        } catch {
            counters.requests.add()
            appendProblem(
                error, HTTPForm(keepAlive: false, isHTTP10: false, isHead: false), into: &batch)
            return .answeredThenClose
        }
        counters.requests.add()
        let skipped = bodyToSkip(head)
        let storesBody = head.method == .put || head.method == .post || head.method == .patch
        var form = HTTPForm(
            keepAlive: head.keepAlive && !isStopping && (storesBody || skipped != nil),
            isHTTP10: head.minorVersion == 0, isHead: head.method == .head)
        do throws(ProtocolError) {
            let step = try route(head, bytes, form, in: snapshot, into: &batch)
            guard case .answered = step else { return step }
            return after(form, skipped)
        } catch {
            if let delay {
                consumed = 0
                counters.requests.add(-1)
                return .again(delay)
            }
            // A body that is not read here is the last thing this connection says.
            if skipped == nil || error.code == .payloadTooLarge { form.keepAlive = false }
            appendProblem(error, form, hint: AnswerHint(error, head, bytes), into: &batch)
            return after(form, skipped)
        }
    }

    /// How many bytes of body to throw away after an answer that did not need it; nil when the
    /// connection rather ends: for a long or chunked one, and when the client waits for our word
    /// before it sends it.
    private func bodyToSkip(_ head: HTTPRequestHead) -> UInt64? {
        guard head.hasBody else { return 0 }
        guard !head.isChunked, !head.expectsContinue, let count = head.contentLength,
            count <= UInt64(DaemonLimits.skippedBodyByteCountMax)
        else { return nil }
        return count
    }

    private func after(_ form: HTTPForm, _ skipped: UInt64?) -> Step {
        guard form.keepAlive, let skipped else { return .answeredThenClose }
        return skipped == 0 ? .answered : .answeredThenSkip(skipped)
    }

    private func route(
        _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) throws(ProtocolError) -> Step {
        let method = head.method
        let path = head.path.of(bytes)
        let route = Route.parse(path: path)
        guard route != .unknown || method == .other else { throw .notFound("resource") }
        guard route.allows(method) else {
            throw ProtocolError(
                .methodNotAllowed, "this resource does not support the method; see Allow")
        }
        let isFetch = method == .get || method == .head
        switch route {
        case .payload(let id) where isFetch, .classicPayload(let id) where isFetch:
            try fetch(
                id.of(path), part: RawSpan(), head, bytes, form, in: snapshot, into: &batch)
            return .answered
        case .part(let id, let name) where isFetch:
            try fetch(
                id.of(path), part: name.of(path), head, bytes, form, in: snapshot, into: &batch)
            return .answered
        case .payload(let id):
            try Self.decode(id.of(path), part: RawSpan(), &batch.scratch)
        case .part(let id, let name):
            try Self.decode(id.of(path), part: name.of(path), &batch.scratch)
        case .blob(let text) where method != .put:
            try appendPayload(
                try blob(try Resource.digest(text.of(path)), in: snapshot), head, bytes, form,
                in: snapshot, into: &batch)
            return .answered
        case .livez:
            try checkNoBody(head)
            appendOK(form, into: &batch)
            return .answered
        case .readyz:
            try checkNoBody(head)
            guard !isStopping else { throw .stopping }
            return .change(
                .checkWritable, PendingReply(request: .check(echo: []), form: .http(form)))
        case .stats:
            try composeStatistics()
            appendDocument(200, form, into: &batch)
            return .answered
        case .notifications where try Self.isRawPublish(head, bytes):
            Self.clear(&batch.scratch)
        default:
            guard let resource = try Resource(route, in: path) else { throw .notFound("resource") }
            return try perform(resource, head, bytes, form, in: snapshot, into: &batch)
        }
        return try publish(head, bytes, form, batch, in: snapshot)
    }

    /// Appends a payload's answer. The names are as they stand in the path; the part may be empty.
    private func fetch(
        _ id: RawSpan, part: RawSpan, _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) throws(ProtocolError) {
        let lookup: PayloadLookup
        if PercentCoding.isPlain(id), part.byteCount == 0 || PercentCoding.isPlain(part) {
            try Self.check(id, part: part)
            lookup = try payload(id, part, in: snapshot)
        } else {
            try Self.decode(id, part: part, &batch.scratch)
            lookup = try payload(
                batch.scratch.id.span.bytes, batch.scratch.part.span.bytes, in: snapshot)
        }
        try appendPayload(lookup, head, bytes, form, in: snapshot, into: &batch)
    }

    /// Decodes the names in a path, of which the part may be missing, and checks them.
    private static func decode(
        _ id: RawSpan, part: RawSpan, _ scratch: inout AnswerBatch.Scratch
    ) throws(ProtocolError) {
        clear(&scratch)
        try PercentCoding.decode(id, orThrow: .badID, into: &scratch.id)
        try check(scratch.id.span.bytes, part: RawSpan())
        try PercentCoding.decode(part, orThrow: .badPart, into: &scratch.part)
        try check(part: scratch.part.span.bytes)
    }

    private static func clear(_ scratch: inout AnswerBatch.Scratch) {
        scratch.id.removeAll(keepingCapacity: true)
        scratch.part.removeAll(keepingCapacity: true)
    }

    /// Neither an id nor a part's name has a slash, so that it is a dot segment or has none.
    @inline(__always)
    private static func check(_ id: RawSpan, part: RawSpan) throws(ProtocolError) {
        try Names.checkID(id)
        if id.isDotSegment { try Names.checkDotSegments(id, "the id", .badID) }
        try check(part: part)
    }

    @inline(__always)
    private static func check(part: RawSpan) throws(ProtocolError) {
        guard part.byteCount > 0 else { return }
        try Names.checkPart(part)
        if part.isDotSegment { try Names.checkDotSegments(part, "the part name", .badPart) }
    }

    /// A POST is of a payload's bytes, unless it has the type of a whole notification and none of
    /// the parameters that say the rest of one.
    ///
    /// Throws `unsupported_media_type` for the types that programs give a document when nobody told
    /// them its type (`curl -d`, `fetch` with a string): it would be stored as the picture.
    static func isRawPublish(
        _ head: HTTPRequestHead, _ bytes: RawSpan
    ) throws(ProtocolError) -> Bool {
        guard let type = head.contentType?.of(bytes), head.query.isEmpty else { return true }
        for untold: StaticString in ["application/x-www-form-urlencoded", "text/plain"]
        where MediaType.isType(type, untold) {
            throw ProtocolError(
                .unsupportedMediaType,
                "the media type \(untold) is not supported here; send a notification as application/json or "
                    + "multipart/form-data, and a payload of this type to "
                    + "/v1/notifications/{id}/payload")
        }
        return !MediaType.isType(type, "application/json")
            && !MediaType.isType(type, "multipart/form-data")
    }

    /// What is done for a resource, and its answer if that is known at once.
    private func perform(
        _ resource: Resource, _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) throws(ProtocolError) -> Step {
        let request = try ResourceRequest(resource, head, bytes)
        switch try perform(request, in: snapshot) {
        case .answer(var answer):
            if Self.isKnown(answer, to: head, bytes) { answer.status = 304 }
            appendResource(answer, form, into: &batch)
            return .answered
        case .receive(let plan):
            if case .heldBlob = plan.kind { try Self.checkLength(of: head) }
            return .upload(
                try upload(
                    plan, Self.framing(of: head), .http(form),
                    expectsContinue: head.expectsContinue))
        case .change(let operation, let reply):
            try checkNoBody(head)
            return .change(
                operation, PendingReply(request: .resource(reply), form: .http(form)))
        case .wait(let query):
            try checkNoBody(head)
            return .wait(query, .http(form))
        case .stream(let query):
            try checkNoBody(head)
            guard !form.isHead else {
                appendEventsHead(form, into: &batch)
                return .answered
            }
            return .stream(query, .http(form))
        }
    }

    /// Whether `If-None-Match` names the record that is answered (RFC 9110, section 13.1.2).
    private static func isKnown(
        _ answer: ResourceAnswer, to head: HTTPRequestHead, _ bytes: RawSpan
    ) -> Bool {
        guard let revision = answer.revision, !head.ifNoneMatch.isEmpty else { return false }
        var tag: [UInt8] = []
        RevisionTags.append(revision, to: &tag)
        return EntityTags.matchesWeakly(head.ifNoneMatch, in: bytes, tag: tag.span.bytes)
    }

    private static func framing(of head: HTTPRequestHead) -> Upload.Framing {
        head.isChunked ? .chunked(ChunkedDecoder()) : .counted(head.contentLength ?? 0)
    }

    /// A body whose length is not said has none (RFC 9112, section 6.3), and would leave nothing of
    /// what is there.
    private static func checkLength(of head: HTTPRequestHead) throws(ProtocolError) {
        guard head.isChunked || head.contentLength != nil else {
            throw ProtocolError(
                .lengthRequired,
                "Content-Length or Transfer-Encoding is required; an empty payload has "
                    + "Content-Length: 0")
        }
    }

    /// What the writer answers later cannot throw a body away first.
    private func checkNoBody(_ head: HTTPRequestHead) throws(ProtocolError) {
        guard !head.hasBody else {
            throw ProtocolError(.malformed, "this request must not have a body")
        }
    }

    /// A PUT or POST: everything about it is checked before a byte of its body is read (and before
    /// 100 Continue).
    private func publish(
        _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        _ batch: borrowing AnswerBatch, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Step {
        try Self.checkLength(of: head)
        let query = try PublishQuery.parse(head.query.of(bytes))
        var mediaType = Wire.defaultMediaTypeText
        if let contentType = head.contentType {
            try MediaType.check(contentType.of(bytes))
            mediaType = contentType.of(bytes).text()
        }
        let coding = try Coding(ofBody: head, bytes)
        let byteCountMax =
            coding == .gzip ? limits.codedByteCountMax : limits.payloadByteCountMax
        if let count = head.contentLength, count > UInt64(byteCountMax) {
            throw Upload.tooLarge(limit: byteCountMax)
        }
        let expiry = try expiry(
            ttlSeconds: query.ttlSeconds, expiryMilliseconds: query.expiryMilliseconds)
        guard !isStopping else { throw .stopping }
        func text(_ bytes: [UInt8]) -> String? {
            bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
        }
        let part = text(batch.scratch.part) ?? Wire.defaultPartText
        let condition = try Condition(head, bytes)
        try checkEarly(condition, batch.scratch.id.span.bytes, part: part, in: snapshot)
        let draft = PublicationDraft(
            id: text(batch.scratch.id), part: part, mediaType: mediaType, owner: text(query.owner),
            app: text(query.app), title: text(query.title), message: text(query.message),
            richType: text(query.richType), expiry: expiry, condition: condition,
            profile: query.profile ?? limits.profile)
        // Of a gzip coding the length is known when it is decoded; the store judges it then.
        if coding == .identity, let count = head.contentLength {
            try draft.check(byteCount: count)
        }
        return .upload(
            Upload(
                .payload(draft), framing: Self.framing(of: head), coding: coding,
                byteCountMax: byteCountMax,
                reply: PendingReply(
                    request: .publish(part: part, isIDAssigned: batch.scratch.id.isEmpty),
                    form: .http(form)),
                expectsContinue: head.expectsContinue))
    }
}
