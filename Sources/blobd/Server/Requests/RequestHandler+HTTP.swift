import BlobProtocol
import BlobStore

// HTTP's requests: which resource and method they name, and what is checked before a body is taken
// in. `HTTPAnswers.swift` writes the answers.

extension RequestHandler {
    /// Answers the HTTP request at the start of `bytes`.
    func nextHTTP(
        _ bytes: RawSpan, of connection: Connection, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        let head: HTTPRequestHead
        do throws(ProtocolError) {
            guard
                let parsed = try HTTPRequestHead.parse(bytes, resuming: &connection.headScanner)
            else { return .needsInput }
            (head, consumed) = parsed
        } catch {
            counters.requests.add()
            appendProblem(
                error, HTTPForm(keepAlive: false, isHTTP10: false, isHead: false), into: &batch)
            return .answeredThenClose
        }
        counters.requests.add()
        let skipped = bodyToSkip(head)
        let storesBody = head.method == .put || head.method == .post
        var form = HTTPForm(
            keepAlive: head.keepAlive && !isStopping && (storesBody || skipped != nil),
            isHTTP10: head.minorVersion == 0, isHead: head.method == .head)
        do throws(ProtocolError) {
            let step = try route(head, bytes, form, in: snapshot, into: &batch)
            guard case .answered = step else { return step }
            return after(form, skipped)
        } catch {
            // A body that is not read here is the last thing this connection says.
            if skipped == nil || error.code == .payloadTooLarge { form.keepAlive = false }
            appendProblem(error, form, allow: allow(error, head, bytes), into: &batch)
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

    private func allow(
        _ error: ProtocolError, _ head: HTTPRequestHead, _ bytes: RawSpan
    ) -> StaticString? {
        guard error.code == .methodNotAllowed else { return nil }
        let route = Route.parse(path: head.path.of(bytes))
        return route == .unknown ? "GET, HEAD, PUT, POST, DELETE" : route.allow
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
                .methodNotAllowed, "this resource does not have that method; Allow says which")
        }
        batch.scratch.id.removeAll(keepingCapacity: true)
        batch.scratch.part.removeAll(keepingCapacity: true)
        switch route {
        case .payload(let id), .classicPayload(let id):
            try Self.decodeID(id.of(path), into: &batch.scratch.id)
        case .part(let id, let name):
            try Self.decodeID(id.of(path), into: &batch.scratch.id)
            try Self.decodePart(name.of(path), into: &batch.scratch.part)
        case .notification(let id):
            try Self.decodeID(id.of(path), into: &batch.scratch.id)
            if method == .delete { return try delete(head, bytes, form, batch, in: snapshot) }
            try composeRecord(batch.scratch.id.span.bytes, in: snapshot)
            appendDocument(200, form, into: &batch)
            return .answered
        case .notifications: break
        case .blob(let text):
            try appendPayload(
                try blob(try Self.digest(text.of(path)), in: snapshot), head, bytes, form,
                in: snapshot, into: &batch)
            return .answered
        case .healthz:
            try checkNoBody(head)
            return .change(
                .checkWritable, PendingReply(request: .check(echo: []), form: .http(form)))
        case .stats:
            try composeStatistics()
            appendDocument(200, form, into: &batch)
            return .answered
        case .unknown:
            throw .notFound("resource")
        }
        if method == .put || method == .post {
            return try publish(head, bytes, form, batch, in: snapshot)
        }
        try appendPayload(
            try payload(
                batch.scratch.id.span.bytes, batch.scratch.part.span.bytes, in: snapshot),
            head, bytes, form, in: snapshot, into: &batch)
        return .answered
    }

    private static func decodeID(
        _ text: RawSpan, into id: inout [UInt8]
    ) throws(ProtocolError) {
        try PercentCoding.decode(text, orThrow: .badID, into: &id)
        try Names.checkID(id.span.bytes)
    }

    private static func decodePart(
        _ text: RawSpan, into part: inout [UInt8]
    ) throws(ProtocolError) {
        try PercentCoding.decode(text, orThrow: .badPart, into: &part)
        try Names.checkPart(part.span.bytes)
    }

    private static func digest(_ text: RawSpan) throws(ProtocolError) -> Digest {
        let bytes = try DigestText.parse(text)
        guard let digest = Digest(bytes: bytes.span.bytes) else {
            throw ProtocolError(.badDigest, "the digest is not 32 bytes long")
        }
        return digest
    }

    /// What the writer answers later cannot throw a body away first.
    private func checkNoBody(_ head: HTTPRequestHead) throws(ProtocolError) {
        guard !head.hasBody else {
            throw ProtocolError(.malformed, "this request has no body here")
        }
    }

    /// A DELETE: checked here, done by the writer.
    private func delete(
        _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        _ batch: borrowing AnswerBatch, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Step {
        try checkNoBody(head)
        let precondition = Precondition(head, bytes)
        if !precondition.isEmpty {
            try precondition.check(
                try currentDigest(batch.scratch.id.span.bytes, RawSpan(), in: snapshot))
        }
        return .change(
            .apply(.delete(id: String(decoding: batch.scratch.id, as: UTF8.self))),
            PendingReply(request: .delete, form: .http(form)))
    }

    /// A PUT or POST: everything about it is checked before a byte of its body is read (and before
    /// 100 Continue).
    private func publish(
        _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        _ batch: borrowing AnswerBatch, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Step {
        let query = try PublishQuery.parse(head.query.of(bytes))
        var mediaType = Wire.defaultMediaType.description
        if let contentType = head.contentType {
            try MediaType.check(contentType.of(bytes))
            mediaType = contentType.of(bytes).text()
        }
        if let coding = head.contentEncoding?.of(bytes),
            !coding.equalsIgnoringCase("identity")
        {
            throw ProtocolError(
                .unsupportedContentCoding,
                "the content coding is \(coding.excerpt()); send the payload as it is")
        }
        if let count = head.contentLength, count > UInt64(limits.payloadByteCountMax) {
            throw Upload.tooLarge(limit: limits.payloadByteCountMax)
        }
        let isPayloadPart =
            batch.scratch.part.isEmpty
            || batch.scratch.part.span.bytes.equals(Wire.defaultPart)
        let lifetime = try lifetime(
            ttlSeconds: query.ttlSeconds, expiryMilliseconds: query.expiryMilliseconds,
            isPayloadPart: isPayloadPart)
        let precondition = Precondition(head, bytes)
        if !precondition.isEmpty {
            try precondition.check(
                try currentDigest(
                    batch.scratch.id.span.bytes, batch.scratch.part.span.bytes, in: snapshot))
        }
        guard !isStopping else { throw .stopping }
        func text(_ bytes: [UInt8]) -> String? {
            bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
        }
        let part = text(batch.scratch.part) ?? Wire.defaultPart.description
        let draft = PublicationDraft(
            id: text(batch.scratch.id), part: part, mediaType: mediaType, owner: text(query.owner),
            message: text(query.message), richType: text(query.richType), lifetime: lifetime)
        return .upload(
            Upload(
                draft,
                framing: head.isChunked
                    ? .chunked(ChunkedDecoder()) : .counted(head.contentLength ?? 0),
                reply: PendingReply(
                    request: .publish(part: part, isIDAssigned: batch.scratch.id.isEmpty),
                    form: .http(form)),
                precondition: precondition, expectsContinue: head.expectsContinue))
    }

    /// The digest of what is there already, or nil.
    func currentDigest(
        _ id: RawSpan, _ part: RawSpan, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Digest? {
        guard id.byteCount > 0 else { return nil }
        switch try payload(id, part, in: snapshot) {
        case .found(let payload): return payload.digest
        case .expired, .missing: return nil
        }
    }
}
