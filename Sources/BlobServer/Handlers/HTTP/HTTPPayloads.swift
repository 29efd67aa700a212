import BlobProtocol
import BlobStore

// A payload's answer in HTTP.

extension RequestHandler {
    /// Appends a payload's answer: 200, 206, 304 or 416 (RFC 9110, section 13.2.2 for the order of
    /// the conditions).
    func appendPayload(
        _ lookup: PayloadLookup, _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) throws(ProtocolError) {
        switch lookup {
        case .missing: throw .notFound("notification or part")
        case .expired(let moment): throw .expired("payload", at: moment)
        case .found(let payload):
            let blob = payload.blob
            let accepted = head.acceptEncoding
            var choice = BodyChoice.whole(
                blob,
                acceptsGzip: accepted.prefersGzip
                    || (accepted.acceptsGzip && !accepted.acceptsIdentity))
            guard choice.coding == .gzip || accepted.acceptsIdentity else {
                throw ProtocolError(
                    .notAcceptable, "only identity coding is available")
            }
            if head.hasConditions { Self.composeTags(of: blob, &batch.scratch) }
            // A range is of the bytes as given. A client that refuses those gets the whole gzip stream.
            var resolved = ResolvedRange.whole
            switch head.range {
            case .none: break
            default:
                if accepted.acceptsIdentity, Self.isRangeWanted(head, bytes, batch.scratch) {
                    resolved = head.range.resolve(byteCount: UInt64(blob.byteCount))
                }
            }
            let coding = resolved == .whole ? choice.coding : .identity
            if head.ifMatch.count > 0,
                !Self.isNamed(
                    head.ifMatch, in: bytes, batch.scratch, coding, strongly: true)
            {
                throw ProtocolError(
                    .preconditionFailed, "If-Match does not match the payload")
            }
            let left = max(0, (payload.expiresAt.milliseconds - now.milliseconds) / 1_000)
            var fields = PayloadHead.Fields(status: 200, maxAge: UInt64(left))
            fields.isLast = !form.keepAlive
            fields.isHTTP10 = form.isHTTP10
            fields.varies = blob.coding == .gzip
            let digest = blob.digest.rawBytes
            if head.ifNoneMatch.count > 0,
                Self.isNamed(
                    head.ifNoneMatch, in: bytes, batch.scratch, coding, strongly: false)
            {
                fields.status = 304
                fields.isGzip = coding == .gzip
                http.payloadHead.append(
                    fields, mediaType: RawSpan(), digest: digest.span.bytes, into: &batch.heads)
                return batch.endAnswer()
            }
            switch resolved {
            case .whole: break
            case .partial(let lower, let upper):
                // Both are at most the payload's size, which is an Int.
                choice = .asGiven(blob, Int(lower), upTo: Int(upper))
                fields.status = 206
                fields.range = (lower, upper, UInt64(blob.byteCount))
            case .unsatisfiable:
                throw ProtocolError(
                    .badRange,
                    "the range begins after the end; the payload is \(blob.byteCount) bytes long",
                    limit: blob.byteCount)
            }
            if form.isHead {
                choice.body = .none
            } else {
                try map(choice.body, of: payload, into: &batch, in: snapshot)
            }
            fields.byteCount = UInt64(choice.byteCount)
            fields.isGzip = choice.coding == .gzip
            var linked: StoredRange?
            if case .stored(let range) = choice.body, range.byteCount >= batch.linkedByteCountMin {
                linked = range
            }
            fields.isEnded = linked == nil
            if payload.mediaType.byteCount > 0 {
                http.payloadHead.append(
                    fields, mediaType: payload.mediaType, digest: digest.span.bytes,
                    into: &batch.heads)
            } else {
                Wire.defaultMediaType.withUTF8Buffer {
                    http.payloadHead.append(
                        fields, mediaType: RawSpan(_unsafeBytes: .init($0)),
                        digest: digest.span.bytes, into: &batch.heads)
                }
            }
            if let linked { end(linked, into: &batch) }
            batch.endAnswer(choice.body)
        }
    }

    /// Ends the head of an answer with a linked body, behind the last field's value.
    private func end(_ range: StoredRange, into batch: inout AnswerBatch) {
        // Blanks behind a value are no part of it (RFC 9112, section 5).
        let count = batch.alignment(of: range, behind: 4)
        batch.heads.append(contentsOf: repeatElement(UInt8(ascii: " "), count: count))
        HTTPResponseHead.prepared("\r\n\r\n", into: &batch.heads)
    }

    /// Composes the tag, and the one of the gzip coding where it may be sent.
    private static func composeTags(
        of blob: BlobReference, _ scratch: inout AnswerBatch.Scratch
    ) {
        scratch.tag.removeAll(keepingCapacity: true)
        EntityTag.append(blob.digest, .identity, to: &scratch.tag)
        scratch.gzipTag.removeAll(keepingCapacity: true)
        if blob.coding == .gzip { EntityTag.append(blob.digest, .gzip, to: &scratch.gzipTag) }
    }

    /// Whether a list names the form that would be sent (RFC 9110, section 13.1), or the bytes as
    /// given, which whoever takes the coded form takes too. Who does not take the coded form has to
    /// have another.
    private static func isNamed(
        _ lines: FieldLines, in bytes: RawSpan, _ scratch: AnswerBatch.Scratch, _ coding: Coding,
        strongly: Bool
    ) -> Bool {
        func isNamed(_ tag: RawSpan) -> Bool {
            strongly
                ? EntityTags.matchesStrongly(lines, in: bytes, tag: tag)
                : EntityTags.matchesWeakly(lines, in: bytes, tag: tag)
        }
        return isNamed(scratch.tag.span.bytes)
            || (coding == .gzip && isNamed(scratch.gzipTag.span.bytes))
    }

    /// Whether a Range is to be applied: If-Range, if given, names the bytes as they were given, of
    /// which ranges are.
    private static func isRangeWanted(
        _ head: HTTPRequestHead, _ bytes: RawSpan, _ scratch: AnswerBatch.Scratch
    ) -> Bool {
        guard let ifRange = head.ifRange else { return true }
        return EntityTags.matchesIfRange(ifRange.of(bytes), tag: scratch.tag.span.bytes)
    }
}
