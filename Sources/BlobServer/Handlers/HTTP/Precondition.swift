import BlobProtocol
import BlobStore
import Bytes

// `If-Match` and `If-None-Match` of requests that change something (RFC 9110, section 13.1). The
// store judges them, in the transaction that makes the change.

extension Condition {
    /// What the head asks for. The `If-None-Match` of a GET asks about the answer, and is not part of
    /// it. Throws `malformed` for a change whose condition is no list of entity tags: it would not
    /// protect anything.
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
    /// What was read; nil was malformed, and names nothing.
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

/// The entity tag of a payload: its digest in quotes. The gzip coding has a tag of its own, since a
/// strong one names bytes (RFC 9110, section 8.8.3.3).
enum EntityTag {
    /// Appends `"sha256:<hex>"` or `"sha256:<hex>-gzip"`.
    static func append(_ digest: Digest, _ coding: Coding, to out: inout [UInt8]) {
        out.append("\"")
        digest.appendText(to: &out)
        if coding == .gzip { out.append("-gzip") }
        out.append("\"")
    }
}
