import BlobProtocol
import BlobStore
import Notifications

// Payloads in both dialects: which one is asked for, which of its bytes are sent, and what is
// published.

extension RequestHandler {
    @inline(__always)
    @_lifetime(borrow snapshot)
    func payload(
        _ key: PayloadKey, _ text: RawSpan, in snapshot: borrowing Snapshot
    ) throws(FetchFailure) -> PayloadLookup {
        do throws(StoreError) {
            switch key {
            case .part(let id, let part):
                return try snapshot.payload(for: id.of(text), part: part.of(text), asOf: now)
            case .digest(let digest): return try snapshot.blob(digest, asOf: now)
            }
        } catch {
            throw .refused(problem(error))
        }
    }

    /// Looks up the first bytes, so that a damaged chunk is met before the head is written.
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

    /// Where the blob is in the bucket and not here, the fetch waits for it. Throws why there is nothing to wait for.
    func step(after failure: FetchFailure) throws(ProtocolError) -> Step {
        let blob: BlobReference
        switch failure {
        case .refused(let error): throw error
        case .evicted(let evicted): blob = evicted
        }
        guard let why = replica.fetches.refusal(of: blob, asOf: .now) else {
            return .retryWithBlob(blob)
        }
        throw ProtocolError(.unavailable, "cannot send the payload now: \(why)")
    }

    // MARK: - Publishing

    /// When what a publish stores ends, checked against the limits and the time. Where it is not said,
    /// what is there keeps its end.
    func expiry(_ lifetime: Lifetime) throws(ProtocolError) -> Expiry {
        try LifetimeRules(limits).chosen(lifetime, asOf: now)
            ?? .keepOrAfter(seconds: limits.defaultTTLSeconds)
    }

    /// A PUT or POST of a payload's bytes. An id that the path does not name is chosen by the store, and a part that
    /// it does not name is `payload`.
    func putPayload(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let text = request.query
        let query = try PublishQuery.parse(text.span.bytes)
        var texts = query.texts
        texts.id = request.id
        let draft = PublicationDraft(
            texts, part: request.part ?? .payload,
            mediaType: request.mediaType ?? .octetStream,
            expiry: try expiry(query.lifetime),
            condition: request.condition, profile: query.profile ?? limits.profile)
        return try publish(draft, request.coding, byteCount: request.bodyByteCount, in: snapshot)
    }

    func payloadByteCountMax(_ coding: BodyCoding) -> Int {
        coding == .identity ? limits.payloadByteCountMax : limits.codedByteCountMax
    }

    func publish(
        _ draft: PublicationDraft, _ coding: BodyCoding, byteCount: UInt64?,
        in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let use = PayloadUse.publish(draft)
        let plan = BodyPlan(
            kind: .payload(use), coding: coding, byteCountMax: payloadByteCountMax(coding))
        if let byteCount, byteCount > UInt64(plan.byteCountMax) { throw plan.tooLarge }
        guard !isStopping else { throw .stopping }
        try checkEarly(draft, in: snapshot)
        // What is inside a coding has its length when it is decoded; the store judges it then.
        try use.check(byteCount: coding == .identity ? byteCount ?? 0 : 0)
        return .receiveBody(plan)
    }

    /// Refuses a change of a part before its body comes, where the snapshot surely has all that was
    /// acknowledged. Elsewhere, and once the body is there, the transaction decides.
    private func checkEarly(
        _ draft: PublicationDraft, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) {
        guard draft.condition != .none, let id = draft.texts.id?.text,
            case .ready = store.readiness(of: .notification, id.utf8.span.bytes, in: snapshot)
        else { return }
        let lookup = try asked(try snapshot.record(for: id.utf8.span.bytes, asOf: now))
        var live: Record?
        if case .found(let record) = lookup { live = record }
        try asked(try draft.condition.check(live, part: draft.part.text))
    }
}

enum FetchFailure: Error {
    /// It is not there, or not for this request.
    case refused(ProtocolError)
    /// Its bytes are in the bucket, and not here.
    case evicted(BlobReference)
}

extension Payload {
    /// Its media type, or that of bytes of which nothing is said.
    var servedMediaType: RawSpan {
        @inline(__always)
        @_lifetime(copy self)
        get {
            guard mediaType.byteCount == 0 else { return mediaType }
            // A literal's bytes are never freed.
            let text = Wire.defaultMediaType
            let bytes = RawSpan(_unsafeStart: text.utf8Start, byteCount: text.utf8CodeUnitCount)
            return _overrideLifetime(bytes, copying: self)
        }
    }
}

/// What of a payload an answer carries.
struct Selection {
    /// 200, 206 or 304.
    var status: UInt16 = 200
    /// The first byte: as stored where the coding is gzip, else as given.
    var lower: Int
    /// After the last byte; the bytes of a 304 are not sent.
    var upper: Int
    var coding: Coding

    var byteCount: Int { upper - lower }

    /// All of it, as it is stored if that suits the client.
    @inline(__always)
    static func whole(_ blob: BlobReference, acceptsGzip: Bool) -> Selection {
        guard blob.coding == .gzip, acceptsGzip else {
            return Selection(lower: 0, upper: blob.byteCount, coding: .identity)
        }
        return Selection(lower: 0, upper: blob.storedByteCount, coding: .gzip)
    }

    /// The bytes of a range, of those as given. Throws `bad_range`.
    ///
    /// - Parameter place: where the range begins, for the error's words.
    func narrowed(
        to range: ResolvedRange, of blob: BlobReference, beginning place: @autoclosure () -> String
    ) throws(ProtocolError) -> Selection {
        switch range {
        case .whole: return self
        case .partial(let lower, let upper):
            // Both are at most the payload's size, which is an Int.
            return Selection(
                status: 206, lower: Int(lower), upper: Int(upper), coding: .identity)
        case .unsatisfiable:
            throw ProtocolError(
                .badRange,
                "the range begins \(place()); the payload is \(blob.byteCount) bytes long",
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
