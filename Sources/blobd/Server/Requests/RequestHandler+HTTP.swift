import BlobProtocol
import BlobStore

// HTTP's requests: which resource and method they name, and what is checked before a body is taken in.
// `HTTPAnswers.swift` writes the answers.

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
        let request = HTTPRequest(head: head, bytes: bytes)
        let skipped = bodyToSkip(head)
        let storesBody = head.method == .put || head.method == .post
        var form = HTTPForm(
            keepAlive: head.keepAlive && !isStopping && (storesBody || skipped != nil),
            isHTTP10: head.minorVersion == 0, isHead: head.method == .head)
        do throws(ProtocolError) {
            let step = try route(request, form, in: snapshot, into: &batch)
            guard case .answered = step else { return step }
            return after(form, skipped)
        } catch {
            // A body that is not read here is the last thing this connection says.
            if skipped == nil { form.keepAlive = false }
            appendProblem(error, form, allow: allow(error, request), into: &batch)
            return after(form, skipped)
        }
    }

    /// A parsed head, and the bytes its slices are of.
    struct HTTPRequest: ~Escapable {
        let head: HTTPRequestHead
        let bytes: RawSpan

        @_lifetime(copy bytes)
        init(head: HTTPRequestHead, bytes: RawSpan) {
            self.head = head
            self.bytes = bytes
        }

        var path: RawSpan {
            @_lifetime(copy self)
            get { head.path.of(bytes) }
        }
    }

    /// How many bytes of body to throw away after an answer that did not need it; nil when the connection rather ends: for a
    /// long or chunked one, and when the client waits for our word before it sends it.
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

    private func allow(_ error: ProtocolError, _ request: HTTPRequest) -> StaticString? {
        guard error.code == .methodNotAllowed else { return nil }
        let route = Route.parse(path: request.path)
        return route == .unknown ? "GET, HEAD, PUT, POST, DELETE" : route.allow
    }

    private func route(
        _ request: HTTPRequest, _ form: HTTPForm, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) throws(ProtocolError) -> Step {
        let method = request.head.method
        let route = Route.parse(path: request.path)
        guard route != .unknown || method == .other else { throw .notFound("resource") }
        guard route.allows(method) else {
            throw ProtocolError(
                .methodNotAllowed, "this resource does not have that method; Allow says which")
        }
        switch route {
        case .payload(let id), .classicPayload(let id):
            try decodeID(id.of(request.path))
            decodedPart.removeAll(keepingCapacity: true)
            if method == .put { return try publish(request, form, in: snapshot) }
            let lookup = try found { () throws(StoreError) in
                try snapshot.payload(for: decodedID.span.bytes, part: RawSpan(), asOf: now)
            }
            try appendPayload(lookup, request, form, in: snapshot, into: &batch)
        case .part(let id, let name):
            try decodeID(id.of(request.path))
            try decodePart(name.of(request.path))
            if method == .put { return try publish(request, form, in: snapshot) }
            let lookup = try found { () throws(StoreError) in
                try snapshot.payload(
                    for: decodedID.span.bytes, part: decodedPart.span.bytes, asOf: now)
            }
            try appendPayload(lookup, request, form, in: snapshot, into: &batch)
        case .blob(let text):
            let bytes = try DigestText.parse(text.of(request.path))
            guard let digest = Digest(bytes: bytes.span.bytes) else {
                throw ProtocolError(.badDigest, "the digest is not 32 bytes long")
            }
            let lookup = try found { () throws(StoreError) in
                try snapshot.blob(digest, asOf: now)
            }
            try appendPayload(lookup, request, form, in: snapshot, into: &batch)
        case .notification(let id):
            try decodeID(id.of(request.path))
            if method == .delete { return try delete(request, form, in: snapshot) }
            try appendRecord(form, in: snapshot, into: &batch)
        case .notifications:
            decodedID.removeAll(keepingCapacity: true)
            decodedPart.removeAll(keepingCapacity: true)
            return try publish(request, form, in: snapshot)
        case .healthz:
            try checkNoBody(request)
            return .change(
                .checkWritable, PendingReply(request: .check(echo: []), form: .http(form)))
        case .stats:
            try found { () throws(StoreError) in try composeStatistics() }
            appendDocument(200, form, into: &batch)
        case .unknown:
            throw .notFound("resource")
        }
        return .answered
    }

    private func decodeID(_ text: RawSpan) throws(ProtocolError) {
        decodedID.removeAll(keepingCapacity: true)
        try PercentCoding.decode(text, orThrow: .badID, into: &decodedID)
        try Names.checkID(decodedID.span.bytes)
    }

    private func decodePart(_ text: RawSpan) throws(ProtocolError) {
        decodedPart.removeAll(keepingCapacity: true)
        try PercentCoding.decode(text, orThrow: .badPart, into: &decodedPart)
        try Names.checkPart(decodedPart.span.bytes)
    }

    /// What the writer answers later cannot throw a body away first.
    private func checkNoBody(_ request: HTTPRequest) throws(ProtocolError) {
        guard !request.head.hasBody else {
            throw ProtocolError(.malformed, "this request has no body here")
        }
    }

    /// A DELETE: checked here, done by the writer.
    private func delete(
        _ request: HTTPRequest, _ form: HTTPForm, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Step {
        try checkNoBody(request)
        let precondition = Precondition(request.head, request.bytes)
        if !precondition.isEmpty {
            try precondition.check(
                try currentDigest(decodedID.span.bytes, RawSpan(), in: snapshot))
        }
        return .change(
            .apply(.delete(id: String(decoding: decodedID, as: UTF8.self))),
            PendingReply(request: .delete, form: .http(form)))
    }

    /// A PUT or POST: everything about it is checked before a byte of its body is read (and before 100 Continue).
    private func publish(
        _ request: HTTPRequest, _ form: HTTPForm, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Step {
        let head = request.head
        let query = try PublishQuery.parse(head.query.of(request.bytes))
        var mediaType = Wire.defaultMediaType.description
        if let contentType = head.contentType {
            try MediaType.check(contentType.of(request.bytes))
            mediaType = contentType.of(request.bytes).text()
        }
        if let coding = head.contentEncoding?.of(request.bytes),
            !coding.equalsIgnoringCase("identity")
        {
            throw ProtocolError(
                .unsupportedContentCoding,
                "the content coding is \(coding.excerpt()); send the payload as it is")
        }
        if let count = head.contentLength, count > UInt64(limits.payloadByteCountMax) {
            throw Upload.tooLarge(limit: limits.payloadByteCountMax)
        }
        let isPayloadPart = decodedPart.isEmpty || decodedPart.span.bytes.equals(Wire.defaultPart)
        let lifetime = try lifetime(
            ttlSeconds: query.ttlSeconds, expiryMilliseconds: query.expiryMilliseconds,
            isPayloadPart: isPayloadPart)
        let precondition = Precondition(head, request.bytes)
        if !precondition.isEmpty {
            try precondition.check(
                try currentDigest(decodedID.span.bytes, decodedPart.span.bytes, in: snapshot))
        }
        guard !isStopping else { throw .stopping }
        func text(_ bytes: [UInt8]) -> String? {
            bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
        }
        let part = text(decodedPart) ?? Wire.defaultPart.description
        let draft = PublicationDraft(
            id: text(decodedID), part: part, mediaType: mediaType, owner: text(query.owner),
            message: text(query.message), richType: text(query.richType), lifetime: lifetime)
        return .upload(
            Upload(
                draft,
                framing: head.isChunked
                    ? .chunked(ChunkedDecoder()) : .counted(head.contentLength ?? 0),
                reply: PendingReply(
                    request: .publish(part: part, isIDAssigned: decodedID.isEmpty),
                    form: .http(form)),
                precondition: precondition, expectsContinue: head.expectsContinue))
    }

    /// The digest of what is there already, or nil.
    func currentDigest(
        _ id: RawSpan, _ part: RawSpan, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> Digest? {
        guard id.byteCount > 0 else { return nil }
        let lookup = try found { () throws(StoreError) in
            try snapshot.payload(for: id, part: part, asOf: now)
        }
        switch lookup {
        case .found(let payload): return payload.digest
        case .expired, .missing: return nil
        }
    }

    /// Calls the store, and turns its error into the client's.
    @_lifetime(copy body)
    func found<Result: ~Escapable>(
        _ body: () throws(StoreError) -> Result
    ) throws(ProtocolError) -> Result {
        do throws(StoreError) {
            return try body()
        } catch {
            throw ProtocolError(error)
        }
    }
}
