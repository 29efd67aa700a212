import BlobProtocol
import BlobStore
import Bytes
import Notifications

// HTTP's requests but fetches: everything a head says is checked before a byte of a body is read,
// and before 100 Continue.

extension RequestHandler {
    /// What a head asks for on a route that has its method.
    ///
    /// - Parameter link: the signed link that it came by; nil: it came by none.
    func action(
        _ route: Route, _ head: HTTPRequestHead, _ bytes: RawSpan, link: HeldLink? = nil
    ) throws(ProtocolError) -> Action {
        let path = head.path.of(bytes)
        switch route {
        case .payload(let id): return try publish(id: id.of(path), part: RawSpan(), head, bytes)
        case .part(let id, let part):
            return try publish(id: id.of(path), part: part.of(path), head, bytes)
        case .notifications where try HTTPCodec.isRawPublish(head, bytes):
            return try publish(id: RawSpan(), part: RawSpan(), head, bytes)
        case .livez:
            try HTTPCodec.checkNoBody(head)
            return .live
        case .readyz:
            try HTTPCodec.checkNoBody(head)
            return .check(.ready)
        case .stats: return .statistics
        case .metrics: return .metrics
        case .openAPI: return .openAPI
        case .backup:
            try HTTPCodec.checkNoBody(head)
            return .backup
        default:
            switch route {
            case .scrub, .replication: try HTTPCodec.checkNoBody(head)
            default: break
            }
            guard let resource = try Resource(route, in: path) else { throw .notFound("resource") }
            var request = try ResourceRequest(resource, head, bytes)
            request.link = link
            return .resource(request)
        }
    }

    /// A PUT or POST of a payload. An id that is empty is chosen by the store, and a part's name that
    /// is empty is `payload`.
    private func publish(
        id: RawSpan, part: RawSpan, _ head: HTTPRequestHead, _ bytes: RawSpan
    ) throws(ProtocolError) -> Action {
        let id = id.byteCount > 0 ? try NotificationID(inPath: id) : nil
        let part = part.byteCount > 0 ? try PartName(inPath: part) : .payload
        try HTTPCodec.checkLength(of: head)
        let query = try PublishQuery.parse(head.query.of(bytes))
        var texts = query.texts
        texts.id = id
        var mediaType = MediaType.octetStream
        if let contentType = head.contentType {
            mediaType = try MediaType(onWire: contentType.of(bytes))
        }
        let coding = try BodyCoding(head, bytes)
        let draft = PublicationDraft(
            texts: texts, part: part, mediaType: mediaType,
            expiry: try expiry(
                ttlSeconds: query.ttlSeconds, expiryMilliseconds: query.expiryMilliseconds),
            condition: try Condition(head, bytes), profile: query.profile)
        return .publish(draft, coding, byteCount: head.contentLength)
    }
}

extension HTTPCodec {
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

    /// How the end of a body is known.
    static func framing(of head: HTTPRequestHead) -> Upload.Framing {
        head.isChunked ? .chunked(ChunkedDecoder()) : .counted(head.contentLength ?? 0)
    }

    /// A body whose length is not said has none (RFC 9112, section 6.3), and would leave nothing of
    /// what is there.
    static func checkLength(of head: HTTPRequestHead) throws(ProtocolError) {
        guard head.isChunked || head.contentLength != nil else {
            throw ProtocolError(
                .lengthRequired,
                "Content-Length or Transfer-Encoding is required; an empty payload has "
                    + "Content-Length: 0")
        }
    }

    static func checkNoBody(_ head: HTTPRequestHead) throws(ProtocolError) {
        guard !head.hasBody else {
            throw ProtocolError(.malformed, "this request must not have a body")
        }
    }
}
