import Bytes

/// What the entity tags of an `If-Match` or `If-None-Match` name (RFC 9110, section 13.1): revisions
/// of notifications, `"1234"`, and digests of payloads, `"sha256:<hex>"` or `"sha256:<hex>-gzip"`.
/// Both tags of a payload name its bytes. A tag of any other form names nothing.
public struct ConditionTags: Sendable, Hashable {
    /// How tags are compared (RFC 9110, section 8.8.3.2).
    public enum Comparison: Sendable {
        /// Weak tags name nothing: `If-Match`.
        case strong
        /// Weak tags count as strong ones: `If-None-Match`.
        case weak
    }

    /// Whether it is `*`: whatever is there.
    public private(set) var isAny = false
    /// These revisions.
    public private(set) var revisions: [UInt64] = []
    /// These digests.
    public private(set) var digests: [Digest] = []

    /// Reads the lines of a field, which together are one list. Nil when there are none. Throws
    /// `malformed` for what is no list of entity tags.
    public init?(
        _ lines: FieldLines, in bytes: RawSpan, _ comparison: Comparison
    ) throws(ProtocolError) {
        guard !lines.isEmpty else { return nil }
        for index in 0..<lines.count {
            let line = lines[index].of(bytes)
            if line.equals("*") {
                isAny = true
                continue
            }
            try add(line, comparison)
        }
    }

    private mutating func add(_ line: RawSpan, _ comparison: Comparison) throws(ProtocolError) {
        var list = EntityTagList()
        while true {
            switch list.next(line) {
            case .tag(let tag, let isWeak):
                if comparison == .weak || !isWeak { add(tag: tag.of(line)) }
            case .end: return
            case .malformed:
                throw ProtocolError(
                    .malformed, "\(line.excerpt()) is not * or a list of entity tags")
            }
        }
    }

    private mutating func add(tag: RawSpan) {
        let value = tag.extracting(1..<tag.byteCount - 1)
        if let revision = Self.revision(value) {
            revisions.append(revision)
        } else if let digest = Self.digest(value) {
            digests.append(digest)
        }
    }

    /// The revision of a tag. Tags are compared as texts, so one with a zero in front is another.
    private static func revision(_ value: RawSpan) -> UInt64? {
        guard value.byteCount == 1 || (value.byteCount > 1 && value.byte(0) != UInt8(ascii: "0")),
            case .value(let revision) = Decimal.parse(value)
        else { return nil }
        return revision
    }

    private static func digest(_ value: RawSpan) -> Digest? {
        let suffix = "-gzip".utf8.count
        var value = value
        if value.byteCount > suffix,
            value.extracting(value.byteCount - suffix..<value.byteCount).equals("-gzip")
        {
            value = value.extracting(0..<value.byteCount - suffix)
        }
        // Tags are compared as texts, so one with a digit in upper case is another.
        guard value.byteCount > 7, value.extracting(first: 7).equals("sha256:") else { return nil }
        return Digest(hex: value.extracting(droppingFirst: 7))
    }
}
