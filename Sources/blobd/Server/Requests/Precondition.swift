import BlobProtocol
import BlobStore

/// `If-Match` and `If-None-Match` of a request that changes a payload (RFC 9110, section 13), whose
/// tags are digests. Those of whole notifications are revisions, which the store judges (`Condition`).
///
/// They are checked before the body is read, and again when it is complete. Two publishers who do
/// this at the same moment can still both pass: the store changes one after the other and knows no
/// conditions on payloads.
struct Precondition: Sendable {
    private var ifMatch: [[UInt8]] = []
    private var ifNoneMatch: [[UInt8]] = []

    /// None.
    init() {}

    /// What the head says.
    init(_ head: HTTPRequestHead, _ bytes: RawSpan) {
        for index in 0..<head.ifMatch.count {
            ifMatch.append(head.ifMatch[index].of(bytes).array())
        }
        for index in 0..<head.ifNoneMatch.count {
            ifNoneMatch.append(head.ifNoneMatch[index].of(bytes).array())
        }
    }

    /// Whether what a DELETE says is about the payload and not about the revision.
    static func isOfPayload(_ head: HTTPRequestHead, _ bytes: RawSpan) -> Bool {
        guard head.ifNoneMatch.isEmpty else { return true }
        for index in 0..<head.ifMatch.count where head.ifMatch[index].of(bytes).hasDigestTag {
            return true
        }
        return false
    }

    /// Whether nothing is asked for.
    var isEmpty: Bool { ifMatch.isEmpty && ifNoneMatch.isEmpty }

    /// Throws `precondition_failed` unless what is asked for holds of the payload that is there,
    /// nil when there is none.
    func check(_ digest: Digest?) throws(ProtocolError) {
        guard let digest else {
            // Nothing matches If-Match when there is nothing, not even `*` (section 13.1.1).
            guard ifMatch.isEmpty else {
                throw ProtocolError(
                    .preconditionFailed, "there is nothing that If-Match could mean")
            }
            return
        }
        var tag: [UInt8] = []
        var gzipTag: [UInt8] = []
        EntityTag.append(digest, .identity, to: &tag)
        EntityTag.append(digest, .gzip, to: &gzipTag)
        let matches = ifMatch.contains {
            EntityTags.matchesStrongly($0.span.bytes, tag: tag.span.bytes)
                || EntityTags.matchesStrongly($0.span.bytes, tag: gzipTag.span.bytes)
        }
        guard ifMatch.isEmpty || matches else {
            throw ProtocolError(
                .preconditionFailed, "the payload is \(digest), which If-Match does not name")
        }
        let excludes = ifNoneMatch.contains {
            EntityTags.matchesWeakly($0.span.bytes, tag: tag.span.bytes)
                || EntityTags.matchesWeakly($0.span.bytes, tag: gzipTag.span.bytes)
        }
        guard !excludes else {
            throw ProtocolError(
                .preconditionFailed, "the payload is \(digest), which If-None-Match rules out")
        }
    }
}

extension RawSpan {
    /// Whether an entity tag in it begins as those of payloads do.
    fileprivate var hasDigestTag: Bool {
        let count = 8
        guard byteCount >= count else { return false }
        for start in 0...(byteCount - count)
        where extracting(start..<start + count).equals("\"sha256:") { return true }
        return false
    }
}

/// The entity tag of a payload: its digest in quotes. The gzip coding has a tag of its own, since a
/// strong one names bytes (RFC 9110, section 8.8.3.3).
enum EntityTag {
    /// Appends `"sha256:<hex>"` or `"sha256:<hex>-gzip"`.
    static func append(_ digest: Digest, _ coding: Coding, to out: inout [UInt8]) {
        out.append("\"sha256:")
        digest.appendHex(to: &out)
        if coding == .gzip { out.append("-gzip") }
        out.append("\"")
    }
}
