import BlobProtocol
import BlobStore
import Bytes
import Notifications

// What an HTTP head says of its body, and of what must hold for a change.

extension HTTPRequestHead {
    /// A POST is of a payload's bytes, unless it has the type of a whole notification and no query. Throws
    /// `unsupported_media_type` for the types that programs give a document by default (`curl -d`, `fetch` with a
    /// string): it would be stored as the picture.
    func isRawPublish(in bytes: RawSpan) throws(ProtocolError) -> Bool {
        guard let type = contentType?.of(bytes), query.isEmpty else { return true }
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

    /// A body whose length is not said has none (RFC 9112, section 6.3).
    func checkLength() throws(ProtocolError) {
        try require(
            isChunked || contentLength != nil, .lengthRequired,
            "Content-Length or Transfer-Encoding is required; an empty payload has "
                + "Content-Length: 0")
    }

    func checkNoBody() throws(ProtocolError) {
        try require(!hasBody, .malformed, "this request must not have a body")
    }
}

extension BodyCoding {
    /// How the body is coded (RFC 9110, section 8.4): once, with gzip, which may be called `x-gzip`, or deflate.
    init(_ head: HTTPRequestHead, _ bytes: RawSpan) throws(ProtocolError) {
        self = .identity
        guard let name = head.contentEncoding?.of(bytes), !name.equalsIgnoringCase("identity")
        else { return }
        if name.equalsIgnoringCase("gzip") || name.equalsIgnoringCase("x-gzip") {
            self = .gzip
        } else if name.equalsIgnoringCase("deflate") {
            self = .deflate
        } else {
            throw ProtocolError(
                .unsupportedContentCoding,
                "the content coding \(name.excerpt()) is not supported; known are gzip, deflate, identity"
            )
        }
    }
}

// `If-Match` and `If-None-Match` of changes (RFC 9110, section 13.1), which the transaction judges.

extension Condition {
    /// The `If-None-Match` of a GET is about the answer, and no part of it. Throws `malformed` for a change whose
    /// condition is no list of entity tags: it would not protect anything.
    init(_ head: HTTPRequestHead, _ bytes: RawSpan) throws(ProtocolError) {
        guard head.method != .get, head.method != .head else {
            let tags = try? ConditionTags(head.ifMatch, in: bytes, .strong)
            self.init(
                match: head.ifMatch.isEmpty ? nil : EntityTagSet(tags), noneMatch: nil)
            return
        }
        self.init(
            match: try ConditionTags(head.ifMatch, in: bytes, .strong).map { EntityTagSet($0) },
            noneMatch: try ConditionTags(head.ifNoneMatch, in: bytes, .weak).map {
                EntityTagSet($0)
            })
    }

    /// Whether it is of what is there (`If-Match`), so that a change which was not seen is not lost.
    var namesWhatIsThere: Bool {
        switch self {
        case .none, .absent, .tags(match: nil, noneMatch: _): false
        case .exists, .revisions, .tags: true
        }
    }

    private init(match: EntityTagSet?, noneMatch: EntityTagSet?) {
        switch (match, noneMatch) {
        case (nil, nil): self = .none
        case (.any, nil): self = .exists
        case (nil, .any): self = .absent
        case (.named(let revisions, let digests), nil) where digests.isEmpty:
            self = .revisions(revisions)
        default: self = .tags(match: match, noneMatch: noneMatch)
        }
    }
}

extension EntityTagSet {
    fileprivate init(_ tags: ConditionTags?) {
        guard let tags else {
            self = .named(revisions: [], digests: [])
            return
        }
        self =
            tags.isAny
            ? .any
            : .named(revisions: tags.revisions, digests: tags.digests)
    }
}
