import BlobProtocol
import BlobStore

// The binary protocol's requests: `docs/PROTOCOL.md` draws them.

extension RequestHandler {
    /// Answers the frame at the start of `bytes` when it is a plain fetch and what it asks for is
    /// there: all of a payload, in the coding in which it is kept. ``next(_:of:in:into:consumed:)``
    /// would answer the same.
    ///
    /// - Returns: how many bytes were used; 0 when there is anything else to be said, and nothing
    ///   was done.
    @inline(__always)
    func answerPlainGet(
        _ bytes: RawSpan, of connection: inout Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) -> Int {
        guard connection.isGreeted, let get = PlainGet(bytes) else { return 0 }
        let id = get.id.of(bytes)
        // Where it may be about to change, whoever answers anything has it wait.
        guard !store.pendingKeys.mayContain(id), snapshot.isCurrent else { return 0 }
        do throws(StoreError) {
            guard
                case .found(let payload) = try snapshot.payload(
                    for: id, part: RawSpan(), asOf: now)
            else { return 0 }
            let blob = payload.blob
            guard blob.storedByteCount > 0, blob.coding == .identity || get.acceptsGzip,
                payload.mediaType.byteCount > 0,
                payload.mediaType.byteCount <= WireLimits.mediaTypeByteCountMax
            else { return 0 }
            try batch.map(payload)
            let digest = blob.digest.rawBytes
            Get.Response(
                byteCount: UInt64(blob.byteCount),
                expiryMilliseconds: payload.expiresAt.milliseconds, revision: payload.revision,
                createdMilliseconds: payload.createdAt.milliseconds,
                coding: blob.coding == .gzip ? .gzip : .identity
            ).compose(
                answering: RequestFrame(
                    .get, requestID: get.requestID, headByteCount: 0, bodyByteCount: 0),
                status: 200, bodyByteCount: UInt64(blob.storedByteCount),
                digest: digest.span.bytes, mediaType: payload.mediaType, into: &batch.heads)
            batch.endAnswer(
                .stored(StoredRange(blob: blob, from: 0, upTo: blob.storedByteCount)))
        } catch {
            // What is wrong is found again, noted and said by who answers anything.
            return 0
        }
        counters.requests.add()
        return get.byteCount
    }

    /// Answers the frame at the start of `bytes`.
    func nextFrame(
        _ bytes: RawSpan, of connection: inout Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        let frame: RequestFrame
        do throws(FrameError) {
            guard let parsed = try RequestFrame.parse(bytes) else { return .needsInput }
            frame = parsed
        } catch {
            counters.requests.add()
            let answer = RequestFrame(
                opcode: error.opcode, flags: [], requestID: error.requestID, headByteCount: 0,
                bodyByteCount: 0)
            appendProblem(error.problem, answer, into: &batch)
            return .answeredThenClose
        }
        // At most 8,216 bytes: the parser has checked the head's size.
        let headEnd = Wire.frameHeaderByteCount + Int(frame.headByteCount)
        guard bytes.byteCount >= headEnd else { return .needsInput }
        let head = bytes.extracting(Wire.frameHeaderByteCount..<headEnd)
        consumed = headEnd
        counters.requests.add()
        do throws(ProtocolError) {
            guard let operation = frame.operation else {
                guard connection.isGreeted else {
                    return end("the first frame must be hello, not \(frame.opcode)", frame, &batch)
                }
                throw ProtocolError(
                    .methodNotAllowed, "unknown operation \(frame.opcode)")
            }
            guard connection.isGreeted != (operation == .hello) else {
                return end(
                    connection.isGreeted
                        ? "hello must be sent once"
                        : "the first frame must be hello, not \(operation)", frame, &batch)
            }
            let bodyMax = bodyByteCountMax(of: operation, frame.flags)
            guard frame.bodyByteCount <= bodyMax else {
                throw ProtocolError(
                    .payloadTooLarge,
                    "the body is \(frame.bodyByteCount) bytes long; the limit for \(operation) is \(bodyMax)",
                    limit: Int(clamping: bodyMax))
            }
            return try perform(
                operation, frame, head, body: bytes.extracting(droppingFirst: headEnd),
                of: &connection, in: snapshot, into: &batch, consumed: &consumed)
        } catch {
            if let delay {
                consumed = 0
                counters.requests.add(-1)
                return .again(delay)
            }
            appendProblem(error, frame, into: &batch)
            // Where the next frame begins is known, but a body that is too long is not worth waiting
            // for. What an operation takes that is not known here is not known either.
            if error.endsConnection || error.code == .payloadTooLarge { return .answeredThenClose }
            return frame.bodyByteCount == 0 ? .answered : .answeredThenSkip(frame.bodyByteCount)
        }
    }

    private func end(
        _ words: String, _ frame: RequestFrame, _ batch: inout AnswerBatch
    ) -> Step {
        appendProblem(ProtocolError(.malformed, words), frame, into: &batch)
        return .answeredThenClose
    }

    /// The longest body of an operation. A call's may be several payloads with the words between
    /// them; the resource says the rest.
    private func bodyByteCountMax(of operation: Opcode, _ flags: RequestFlags) -> UInt64 {
        if let byteCountMax = operation.bodyByteCountMax { return byteCountMax }
        var byteCountMax = limits.payloadByteCountMax
        if flags.contains(.bodyIsGzip) { byteCountMax = limits.codedByteCountMax }
        let extra = operation == .call ? WireLimits.multipartExtraByteCountMax : 0
        return UInt64(byteCountMax + extra)
    }

    private func perform(
        _ operation: Opcode, _ frame: RequestFrame, _ head: RawSpan, body: RawSpan,
        of connection: inout Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch,
        consumed: inout Int
    ) throws(ProtocolError) -> Step {
        switch operation {
        case .get:
            let request = try Get.Request.parse(head, flags: frame.flags)
            try appendPayload(
                try payload(request.id.of(head), request.part.of(head), in: snapshot),
                FetchOptions(request), frame, in: snapshot, into: &batch)
        case .getBlob:
            let request = try GetBlob.Request.parse(head, flags: frame.flags)
            guard let digest = Digest(bytes: request.digest.of(head)) else {
                throw ProtocolError(.badDigest, "the digest must be 32 bytes long")
            }
            try appendPayload(
                try blob(digest, in: snapshot), FetchOptions(request), frame, in: snapshot,
                into: &batch)
        case .put:
            return .upload(try upload(frame, head))
        case .hello:
            _ = try Hello.Request.parse(head)
            connection.isGreeted = true
            appendHello(frame, into: &batch)
        case .ping:
            try EmptyHead.check(head, operation)
            // At most 1,024 bytes, so that the whole of it is waited for.
            let count = Int(frame.bodyByteCount)
            guard body.byteCount >= count else {
                consumed = 0
                return .needsInput
            }
            consumed += count
            let echo = body.extracting(first: count).array()
            return .change(
                .checkWritable, PendingReply(request: .check(echo: echo), form: .binary(frame)))
        case .stat:
            let request = try Stat.Request.parse(head)
            try composeRecord(request.id.of(head), in: snapshot)
            append(frame, status: 200, body: document, into: &batch)
        case .delete:
            let request = try Stat.Request.parse(head, of: .delete)
            return .change(
                .apply(.delete(id: request.id.of(head).text())),
                PendingReply(request: .delete, form: .binary(frame)))
        case .stats:
            try EmptyHead.check(head, operation)
            try composeStatistics()
            append(frame, status: 200, body: document, into: &batch)
        case .list:
            let request = try List.Request.parse(head)
            try composePage(after: request.after.of(head), limit: request.limit, in: snapshot)
            append(frame, status: 200, body: document, into: &batch)
        case .call:
            return try call(frame, head, in: snapshot, into: &batch)
        case .watch:
            return try watch(frame, head)
        }
        return .answered
    }

    /// What `get` and `getBlob` say alike.
    private struct FetchOptions {
        let range: WireRange?
        let acceptsGzip: Bool
        let isHeadOnly: Bool

        init(_ request: Get.Request) {
            (range, acceptsGzip) = (request.range, request.acceptsGzip)
            isHeadOnly = request.isHeadOnly
        }

        init(_ request: GetBlob.Request) {
            (range, acceptsGzip) = (request.range, request.acceptsGzip)
            isHeadOnly = request.isHeadOnly
        }
    }

    private func appendPayload(
        _ lookup: PayloadLookup, _ options: FetchOptions, _ frame: RequestFrame,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) throws(ProtocolError) {
        switch lookup {
        case .missing: throw .notFound("notification or part")
        case .expired(let moment): throw .expired("payload", at: moment)
        case .found(let payload):
            let blob = payload.blob
            var first = 0
            var status: UInt16 = 200
            var choice = BodyChoice.whole(blob, acceptsGzip: options.acceptsGzip)
            if let range = options.range {
                switch range.resolve(byteCount: UInt64(blob.byteCount)) {
                case .whole: break
                case .partial(let lower, let upper):
                    // Both are at most the payload's size, which is an Int.
                    first = Int(lower)
                    status = 206
                    choice = .asGiven(blob, first, upTo: Int(upper))
                case .unsatisfiable:
                    throw ProtocolError(
                        .badRange,
                        "the range begins at byte \(range.first); the payload is \(blob.byteCount) bytes long",
                        limit: blob.byteCount)
                }
            }
            if !options.isHeadOnly {
                try map(choice.body, of: payload, into: &batch, in: snapshot)
            }
            let response = Get.Response(
                byteCount: UInt64(blob.byteCount), first: UInt64(first),
                // A blob has no expiry of its own: it stays as long as a notification has it.
                expiryMilliseconds: frame.operation == .get
                    ? payload.expiresAt.milliseconds : 0,
                revision: payload.revision,
                createdMilliseconds: payload.createdAt.milliseconds,
                coding: choice.coding == .gzip ? .gzip : .identity)
            let digest = blob.digest.rawBytes
            let bodyByteCount = options.isHeadOnly ? 0 : UInt64(choice.byteCount)
            if payload.mediaType.byteCount > 0 {
                response.compose(
                    answering: frame, status: status, bodyByteCount: bodyByteCount,
                    digest: digest.span.bytes, mediaType: payload.mediaType,
                    into: &batch.heads)
            } else {
                Wire.defaultMediaType.withUTF8Buffer {
                    response.compose(
                        answering: frame, status: status, bodyByteCount: bodyByteCount,
                        digest: digest.span.bytes, mediaType: RawSpan(_unsafeBytes: .init($0)),
                        into: &batch.heads)
                }
            }
            batch.endAnswer(options.isHeadOnly ? .none : choice.body)
        }
    }

    private func upload(
        _ frame: RequestFrame, _ head: RawSpan
    ) throws(ProtocolError) -> Upload {
        let request = try Put.Request.parse(head, flags: frame.flags)
        guard !isStopping else { throw .stopping }
        func text(_ slice: Slice) -> String? { slice.isEmpty ? nil : slice.of(head).text() }
        let part = text(request.part) ?? Wire.defaultPartText
        let draft = PublicationDraft(
            id: text(request.id), part: part,
            mediaType: text(request.mediaType) ?? Wire.defaultMediaTypeText,
            owner: text(request.owner), app: text(request.app), title: text(request.title),
            message: text(request.message),
            richType: text(request.richType),
            expiry: try expiry(
                ttlSeconds: request.ttlSeconds, expiryMilliseconds: request.expiryMilliseconds),
            profile: request.profile ?? limits.profile)
        if request.coding == .identity { try draft.check(byteCount: frame.bodyByteCount) }
        return Upload(
            .payload(draft), framing: .counted(frame.bodyByteCount),
            coding: request.coding == .gzip ? .gzip : .identity,
            byteCountMax: Int(bodyByteCountMax(of: .put, frame.flags)),
            reply: PendingReply(
                request: .publish(part: part, isIDAssigned: request.isIDAssigned),
                form: .binary(frame)))
    }
}
