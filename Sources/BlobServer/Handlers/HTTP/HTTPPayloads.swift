import BlobProtocol
import BlobStore
import Bytes

extension RequestHandler {
    /// Appends a payload's answer, and returns its status: 200, 206 or 304.
    func appendPayload(
        _ lookup: PayloadLookup, _ request: HTTPRequest, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) throws(FetchFailure) -> UInt16 {
        switch lookup {
        case .missing: throw .refused(.notFound("notification or part"))
        case .expired(let moment): throw .refused(.expired("payload", at: moment))
        case .found(let payload):
            let blob = payload.blob
            let selection: Selection
            do throws(ProtocolError) {
                selection = try Self.select(
                    blob, request.head, request.bytes, &batch.scratch)
            } catch {
                throw .refused(error)
            }
            let left = max(0, (payload.expiresAt.milliseconds - now.milliseconds) / 1_000)
            var fields = PayloadHead.Fields(status: selection.status, maxAge: UInt64(left))
            fields.isLast = !request.form.keepAlive
            fields.isHTTP10 = request.form.isHTTP10
            fields.varies = blob.coding == .gzip
            fields.isGzip = selection.coding == .gzip
            fields.byteCount = UInt64(selection.byteCount)
            if selection.status == 206 {
                fields.range = (
                    UInt64(selection.lower), UInt64(selection.upper), UInt64(blob.byteCount)
                )
            }
            var body = BatchedAnswer.Body.none
            if !request.form.isHead, selection.status != 304 {
                body = selection.body(of: blob)
                try map(body, of: payload, into: &batch, in: snapshot)
            }
            let isLinked = body.storedByteCount >= batch.linkedByteCountMin
            fields.isEnded = !isLinked
            appendHead(fields, payload, into: &batch)
            if isLinked, case .stored(let range) = body { end(range, into: &batch) }
            batch.endAnswer(body, isFetch: true)
            return selection.status
        }
    }

    @inline(__always)
    private func appendHead(
        _ fields: PayloadHead.Fields, _ payload: Payload, into batch: inout AnswerBatch
    ) {
        let digest = payload.digest.rawBytes
        http.payloadHead.append(
            fields, mediaType: payload.servedMediaType, digest: digest.span.bytes,
            into: &batch.heads)
    }

    /// Chooses what is sent. Most requests have neither a range nor a condition.
    @inline(__always)
    private static func select(
        _ blob: BlobReference, _ head: HTTPRequestHead, _ bytes: RawSpan,
        _ scratch: inout AnswerBatch.Scratch
    ) throws(ProtocolError) -> Selection {
        let accepted = head.acceptEncoding
        let whole = Selection.whole(
            blob,
            acceptsGzip: accepted.prefersGzip
                || (accepted.acceptsGzip && !accepted.acceptsIdentity))
        guard whole.coding == .gzip || accepted.acceptsIdentity else {
            throw ProtocolError(.notAcceptable, "only identity coding is available")
        }
        if !head.hasConditions, case nil = head.range { return whole }
        return try select(blob, whole, head, bytes, &scratch)
    }

    /// For a request with a range or conditions (RFC 9110, section 13.2.2 for the order of the conditions).
    @inline(never)
    private static func select(
        _ blob: BlobReference, _ whole: Selection, _ head: HTTPRequestHead, _ bytes: RawSpan,
        _ scratch: inout AnswerBatch.Scratch
    ) throws(ProtocolError) -> Selection {
        composeTags(of: blob, &scratch)
        // A range is of the bytes as given, and so is the tag that If-Range must be. A weak tag never is, and neither
        // is a date, since nothing here has a modification time (RFC 9110, section 13.1.5). A client that refuses the
        // bytes as given gets the whole gzip stream.
        var resolved = ResolvedRange.whole
        if let range = head.range, head.acceptEncoding.acceptsIdentity,
            head.ifRange.map({ $0.of(bytes).equals(scratch.tag.span.bytes) }) ?? true
        {
            resolved = range.resolve(byteCount: UInt64(blob.byteCount))
        }
        let coding = resolved == .whole ? whole.coding : .identity
        if head.ifMatch.count > 0,
            !isNamed(head.ifMatch, in: bytes, scratch, coding, .strong)
        {
            throw ProtocolError(.preconditionFailed, "If-Match does not match the payload")
        }
        if head.ifNoneMatch.count > 0,
            isNamed(head.ifNoneMatch, in: bytes, scratch, coding, .weak)
        {
            return Selection(status: 304, lower: 0, upper: 0, coding: coding)
        }
        return try whole.narrowed(to: resolved, of: blob, beginning: "after the end")
    }

    /// Ends the head of an answer with a linked body, after the last field's value.
    private func end(_ range: StoredRange, into batch: inout AnswerBatch) {
        // Blanks after a value are no part of it (RFC 9112, section 5).
        let count = batch.alignment(of: range, behind: 4)
        batch.heads.append(contentsOf: repeatElement(UInt8(ascii: " "), count: count))
        HTTPResponseHead.prepared("\r\n\r\n", into: &batch.heads)
    }

    /// Composes the tag, and the one of the gzip coding where it may be sent.
    private static func composeTags(
        of blob: BlobReference, _ scratch: inout AnswerBatch.Scratch
    ) {
        scratch.tag.removeAll(keepingCapacity: true)
        appendTag(of: blob.digest, "\"", to: &scratch.tag)
        scratch.gzipTag.removeAll(keepingCapacity: true)
        if blob.coding == .gzip { appendTag(of: blob.digest, "-gzip\"", to: &scratch.gzipTag) }
    }

    /// Appends `"sha256:<hex>"` or `"sha256:<hex>-gzip"`: a strong tag names bytes, so the gzip coding has its own
    /// (RFC 9110, section 8.8.3.3).
    private static func appendTag(
        of digest: Digest, _ end: StaticString, to out: inout [UInt8]
    ) {
        out.append("\"")
        digest.appendText(to: &out)
        out.append(end)
    }

    /// Whether a list names the form that would be sent (RFC 9110, section 13.1), or the bytes as given, which every
    /// client takes that takes the coded form.
    private static func isNamed(
        _ lines: FieldLines, in bytes: RawSpan, _ scratch: AnswerBatch.Scratch, _ coding: Coding,
        _ comparison: EntityTags.Comparison
    ) -> Bool {
        EntityTags.match(lines, in: bytes, tag: scratch.tag.span.bytes, comparison)
            || (coding == .gzip
                && EntityTags.match(lines, in: bytes, tag: scratch.gzipTag.span.bytes, comparison))
    }
}
