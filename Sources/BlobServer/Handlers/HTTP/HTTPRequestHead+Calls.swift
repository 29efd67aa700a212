import BlobProtocol
import BlobStore
import Bytes
import Notifications

// What an HTTP head states about its body, and about the conditions of a change.

extension HTTPRequestHead {
    /// A POST contains the bytes of a payload, unless it has the media type of a whole notification and no query.
    /// Throws `unsupported_media_type` for the types that programs give a document by default (`curl -d`, `fetch` with
    /// a string): the document would be stored as a payload.
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

    /// Without a length, there is no body (RFC 9112, section 6.3).
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
    /// The coding of the body (RFC 9110, section 8.4): at most one, gzip (or `x-gzip`) or deflate.
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

// `If-Match` and `If-None-Match` of changes (RFC 9110, section 13.1), which the transaction evaluates.

extension Condition {
    /// Ignores the `If-None-Match` of a GET, which is about the answer. Throws `malformed` for a change whose condition
    /// is not a list of entity tags: it would protect nothing.
    init(_ head: HTTPRequestHead, _ bytes: RawSpan) throws(ProtocolError) {
        guard head.method != .get, head.method != .head else {
            let none = EntityTagSet.named(revisions: [], digests: [])
            let tags = try? EntityTagSet(head.ifMatch, in: bytes, .strong)
            self.init(match: head.ifMatch.isEmpty ? nil : tags ?? none, noneMatch: nil)
            return
        }
        self.init(
            match: try EntityTagSet(head.ifMatch, in: bytes, .strong),
            noneMatch: try EntityTagSet(head.ifNoneMatch, in: bytes, .weak))
    }

    /// Whether it refers to the current state (`If-Match`), so that an unseen change is not overwritten.
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
    /// The revisions of notifications and digests of payloads in `If-Match` or `If-None-Match`. A tag of any other form
    /// names nothing. Nil without lines; throws `malformed` if they are not a list of entity tags.
    init?(
        _ lines: FieldLines, in bytes: RawSpan, _ comparison: EntityTags.Comparison
    ) throws(ProtocolError) {
        guard !lines.isEmpty else { return nil }
        var (isAny, revisions, digests) = (false, [UInt64](), [Digest]())
        lines: for index in 0..<lines.count {
            let line = lines[index].of(bytes)
            if line.equals("*") {
                isAny = true
                continue
            }
            var list = EntityTagList()
            while true {
                switch list.next(line) {
                case .tag(let tag, let isWeak):
                    guard comparison == .weak || !isWeak else { continue }
                    let text = tag.of(line).extracting(1..<tag.count - 1)
                    if let revision = Self.revision(text) {
                        revisions.append(revision)
                    } else if let digest = Self.digest(text) {
                        digests.append(digest)
                    }
                case .end: continue lines
                case .malformed:
                    throw ProtocolError(
                        .malformed, "\(line.excerpt()) is not * or a list of entity tags")
                }
            }
        }
        self = isAny ? .any : .named(revisions: revisions, digests: digests)
    }

    /// The revision of a tag. Tags are compared as text, so a leading zero makes it a different one.
    private static func revision(_ text: RawSpan) -> UInt64? {
        guard text.byteCount == 1 || (text.byteCount > 1 && text.byte(0) != UInt8(ascii: "0")),
            case .value(let revision) = Decimal.parse(text)
        else { return nil }
        return revision
    }

    private static func digest(_ text: RawSpan) -> Digest? {
        let end = max(0, text.byteCount - "-gzip".utf8.count)
        let isGzip = text.extracting(droppingFirst: end).equals("-gzip")
        let digest = isGzip ? text.extracting(first: end) : text
        // Tags are compared as text, so an upper-case digit makes it a different one.
        guard digest.byteCount > 7, digest.extracting(first: 7).equals("sha256:") else {
            return nil
        }
        return Digest(hex: digest.extracting(droppingFirst: 7))
    }
}
