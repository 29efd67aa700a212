import BlobProtocol
import BlobStore
import Bytes
import Notifications

// Fetches: which payload, which of its bytes, and HTTP's head for them.

extension RequestHandler {
    @inline(__always)
    @_lifetime(borrow snapshot)
    func payload(
        _ key: PayloadKey, _ text: RawSpan, in snapshot: borrowing Snapshot
    ) throws(FetchFailure) -> Payload {
        let lookup: PayloadLookup
        do throws(StoreError) {
            switch key {
            case .part(let id, let part):
                lookup = try snapshot.payload(for: id.of(text), part: part.of(text), asOf: now)
            case .digest(let digest): lookup = try snapshot.blob(digest, asOf: now)
            }
        } catch {
            throw .refused(problem(error))
        }
        switch lookup {
        case .missing: throw .refused(.notFound("notification or part"))
        case .expired(let moment): throw .refused(.expired("payload", at: moment))
        case .found(let payload): return payload
        }
    }

    /// Looks up the first bytes, so that a damaged chunk is found before the head is written.
    @inline(__always)
    func map(
        _ body: BatchedAnswer.Body, of payload: Payload, into batch: inout AnswerBatch,
        in snapshot: borrowing Snapshot
    ) throws(FetchFailure) {
        var isLong = false
        do throws(StoreError) {
            switch body {
            case .none: break
            case .stored(let range) where range.byteCount == range.blob.storedByteCount:
                try batch.map(payload)
            case .stored(let range): try batch.map(range, in: snapshot)
            case .inflated(let blob, let from, let upTo):
                isLong = upTo - from > Inflater.pieceByteCount
                _ = try snapshot.storedBytes(of: blob, from: 0)
            }
        } catch {
            if case .evicted(let blob) = error { throw .evicted(blob) }
            throw .refused(problem(error))
        }
        // Inflating takes memory until the last byte is sent.
        if isLong {
            do throws(ProtocolError) { try requireAnswerMemory() } catch { throw .refused(error) }
        }
    }
}

enum FetchFailure: Error {
    case refused(ProtocolError)
    case evicted(BlobReference)
}

extension Payload {
    /// Its media type, or the default.
    var servedMediaType: RawSpan {
        @inline(__always)
        @_lifetime(copy self)
        get {
            guard mediaType.byteCount == 0 else { return mediaType }
            // The bytes of a literal are never freed.
            let text = Wire.defaultMediaType
            let bytes = RawSpan(_unsafeStart: text.utf8Start, byteCount: text.utf8CodeUnitCount)
            return _overrideLifetime(bytes, copying: self)
        }
    }
}

struct Selection {
    var status: UInt16 = 200
    /// The first byte: as stored if the coding is gzip, otherwise as given.
    var lower: Int
    /// The end, exclusive. The bytes of a 304 are not sent.
    var upper: Int
    var coding: Coding

    var byteCount: Int { upper - lower }

    @inline(__always)
    static func whole(_ blob: BlobReference, acceptsGzip: Bool) -> Selection {
        guard blob.coding == .gzip, acceptsGzip else {
            return Selection(lower: 0, upper: blob.byteCount, coding: .identity)
        }
        return Selection(lower: 0, upper: blob.storedByteCount, coding: .gzip)
    }

    /// Throws `bad_range`.
    func narrowed(
        to resolved: ResolvedRange, of range: WireRange?, _ blob: BlobReference
    ) throws(ProtocolError) -> Selection {
        switch resolved {
        case .whole: return self
        case .partial(let lower, let upper):
            // Both are at most the payload's size, which is an Int.
            return Selection(
                status: 206, lower: Int(lower), upper: Int(upper), coding: .identity)
        case .unsatisfiable:
            throw ProtocolError(
                .badRange,
                "the range \(range?.words ?? "") has no byte of the payload, which is \(blob.byteCount) bytes long",
                limit: blob.byteCount)
        }
    }

    @inline(__always)
    func body(of blob: BlobReference) -> BatchedAnswer.Body {
        guard lower < upper else { return .none }
        guard blob.coding == coding else { return .inflated(blob, from: lower, upTo: upper) }
        return .stored(StoredRange(blob: blob, from: lower, upTo: upper))
    }
}

extension HTTPRequest {
    func appendPayload(
        _ payload: Payload, isByDigest: Bool, _ handler: RequestHandler,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) throws(FetchFailure) -> UInt16 {
        let blob = payload.blob
        let selection: Selection
        do throws(ProtocolError) {
            selection = try Self.select(blob, head, bytes, &batch.scratch)
        } catch {
            throw .refused(error)
        }
        let left = payload.expiresAt.milliseconds - handler.now.milliseconds
        var fields = PayloadHead.Fields(status: selection.status)
        if isByDigest {
            fields.freshness = .immutable(seconds: UInt64(max(0, left / 1_000)))
        } else if left < PayloadHead.lastMilliseconds {
            fields.freshness = .ending
        }
        fields.isLast = !form.keepAlive
        fields.isHTTP10 = form.isHTTP10
        fields.varies = blob.coding == .gzip
        fields.isGzip = selection.coding == .gzip
        fields.byteCount = UInt64(selection.byteCount)
        if selection.status == 206 {
            fields.range = (
                UInt64(selection.lower), UInt64(selection.upper), UInt64(blob.byteCount)
            )
        }
        var body = BatchedAnswer.Body.none
        if !form.isHead, selection.status != 304 {
            body = selection.body(of: blob)
            try handler.map(body, of: payload, into: &batch, in: snapshot)
        }
        let isLinked = body.storedByteCount >= batch.linkedByteCountMin
        fields.isEnded = !isLinked
        let digest = payload.digest.rawBytes
        handler.http.payloadHead.append(
            fields, mediaType: payload.servedMediaType, digest: digest.span.bytes,
            into: &batch.heads)
        if isLinked, case .stored(let range) = body { end(range, into: &batch) }
        batch.endAnswer(body, fetchStatus: selection.status)
        return selection.status
    }

    /// Selects what is sent. Most requests have neither a range nor a condition.
    @inline(__always)
    private static func select(
        _ blob: BlobReference, _ head: HTTPRequestHead, _ bytes: RawSpan,
        _ scratch: inout AnswerBatch.Scratch
    ) throws(ProtocolError) -> Selection {
        let accepted = head.acceptEncoding
        let whole = Selection.whole(blob, acceptsGzip: accepted.prefersGzip)
        guard whole.coding == .gzip || accepted.acceptsIdentity else {
            throw ProtocolError(.notAcceptable, "only identity coding is available")
        }
        if !head.hasConditions, case nil = head.range { return whole }
        return try select(blob, whole, head, bytes, &scratch)
    }

    /// For requests with a range or conditions, evaluated in the order of RFC 9110, section 13.2.2.
    @inline(never)
    private static func select(
        _ blob: BlobReference, _ whole: Selection, _ head: HTTPRequestHead, _ bytes: RawSpan,
        _ scratch: inout AnswerBatch.Scratch
    ) throws(ProtocolError) -> Selection {
        composeTags(of: blob, &scratch)
        // A range, and so the tag in If-Range, refers to the bytes as given. A weak tag never matches, nor does a date
        // (RFC 9110, section 13.1.5). A client that does not accept the bytes as given gets the whole gzip stream.
        var resolved = ResolvedRange.whole
        if let range = head.range, head.acceptEncoding.acceptsIdentity,
            head.ifRange.map({ $0.of(bytes).equals(scratch.tag.span.bytes) }) ?? true
        {
            resolved = range.resolve(byteCount: UInt64(blob.byteCount))
        }
        let coding = resolved == .whole ? whole.coding : .identity
        if head.ifMatch.count > 0,
            named(by: head.ifMatch, in: bytes, scratch, coding, .strong) == nil
        {
            throw ProtocolError(.preconditionFailed, "If-Match does not match the payload")
        }
        if head.ifNoneMatch.count > 0,
            let named = named(by: head.ifNoneMatch, in: bytes, scratch, coding, .weak)
        {
            // Its tag is the one that the client has (RFC 9110, section 15.4.5).
            return Selection(status: 304, lower: 0, upper: 0, coding: named)
        }
        return try whole.narrowed(to: resolved, of: head.range, blob)
    }

    /// Ends the head of an answer with a linked body, after the value of the last field.
    private func end(_ range: StoredRange, into batch: inout AnswerBatch) {
        // Trailing white space does not belong to a value (RFC 9112, section 5).
        let count = batch.alignment(of: range, after: 4)
        batch.heads.append(contentsOf: repeatElement(UInt8(ascii: " "), count: count))
        batch.heads.append("\r\n\r\n")
    }

    private static func composeTags(
        of blob: BlobReference, _ scratch: inout AnswerBatch.Scratch
    ) {
        scratch.tag.removeAll(keepingCapacity: true)
        appendTag(of: blob.digest, "\"", to: &scratch.tag)
        scratch.gzipTag.removeAll(keepingCapacity: true)
        if blob.coding == .gzip { appendTag(of: blob.digest, "-gzip\"", to: &scratch.gzipTag) }
    }

    /// A strong tag identifies bytes, so the gzip coding has its own (RFC 9110, section 8.8.3.3).
    private static func appendTag(
        of digest: Digest, _ end: StaticString, to out: inout [UInt8]
    ) {
        out.append("\"")
        digest.appendText(to: &out)
        out.append(end)
    }

    /// The form that a list names: the representation that would be sent (RFC 9110, section 13.1), or else the bytes as
    /// given; nil: neither.
    private static func named(
        by lines: FieldLines, in bytes: RawSpan, _ scratch: AnswerBatch.Scratch, _ coding: Coding,
        _ comparison: EntityTags.Comparison
    ) -> Coding? {
        if coding == .gzip,
            EntityTags.match(lines, in: bytes, tag: scratch.gzipTag.span.bytes, comparison)
        {
            return .gzip
        }
        return EntityTags.match(lines, in: bytes, tag: scratch.tag.span.bytes, comparison)
            ? .identity : nil
    }
}
