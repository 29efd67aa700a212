import Bytes

/// Comparing entity tags (RFC 9110, section 8.8.3). `tag` is always the current one, strong and with its quotes.
public enum EntityTags {
    /// How tags are compared (RFC 9110, section 8.8.3.2).
    public enum Comparison: Sendable {
        /// Weak tags name nothing: `If-Match`.
        case strong
        /// Weak tags count as strong ones: `If-None-Match`.
        case weak
    }

    /// The lines together are one list. One that is malformed anywhere names nothing.
    public static func match(
        _ lines: FieldLines, in bytes: RawSpan, tag: RawSpan, _ comparison: Comparison
    ) -> Bool {
        for index in 0..<lines.count where match(lines[index].of(bytes), tag: tag, comparison) {
            return true
        }
        return false
    }

    /// Whether a field's value names the tag.
    public static func match(
        _ value: RawSpan, tag: RawSpan, _ comparison: Comparison
    ) -> Bool {
        if value.equals("*") { return true }
        var isMatch = false
        var list = EntityTagList()
        while true {
            switch list.next(value) {
            case .tag(let named, let isWeak):
                if comparison == .weak || !isWeak, named.of(value).equals(tag) { isMatch = true }
            case .end: return isMatch
            case .malformed: return false
            }
        }
    }
}

/// What `If-Match` or `If-None-Match` names (RFC 9110, section 13.1): revisions of notifications, and digests of
/// payloads. A tag of any other form names nothing.
package struct ConditionTags: Sendable, Hashable {
    /// Whether it is `*`: whatever is there.
    package private(set) var isAny = false
    package private(set) var revisions: [UInt64] = []
    package private(set) var digests: [Digest] = []

    /// Nil when there are no lines. Throws `malformed` for what is no list of entity tags.
    package init?(
        _ lines: FieldLines, in bytes: RawSpan, _ comparison: EntityTags.Comparison
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

    private mutating func add(
        _ line: RawSpan, _ comparison: EntityTags.Comparison
    ) throws(ProtocolError) {
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

/// Walks through a list of entity tags, in which a comma between quotes is a character like any other.
struct EntityTagList {
    enum Element {
        /// A tag with its quotes, and whether `W/` stands before it.
        case tag(Slice, isWeak: Bool)
        case end
        /// Anything else than a list of tags.
        case malformed
    }

    private var index = 0
    private var needsComma = false

    mutating func next(_ text: RawSpan) -> Element {
        while true {
            Token.skipBlanks(text, &index)
            guard index < text.byteCount else { return .end }
            guard text.byte(index) == UInt8(ascii: ",") else { break }
            needsComma = false
            index += 1
        }
        guard !needsComma else { return .malformed }
        var isWeak = false
        // `W/` is case-sensitive.
        if text.byte(index) == UInt8(ascii: "W") {
            guard index + 1 < text.byteCount, text.byte(index + 1) == UInt8(ascii: "/") else {
                return .malformed
            }
            isWeak = true
            index += 2
        }
        let start = index
        guard Self.skipOpaqueTag(text, &index) else { return .malformed }
        needsComma = true
        return .tag(Slice(start, upTo: index), isWeak: isWeak)
    }

    /// Moves past `DQUOTE *etagc DQUOTE`.
    private static func skipOpaqueTag(_ text: RawSpan, _ index: inout Int) -> Bool {
        guard index < text.byteCount, text.byte(index) == UInt8(ascii: "\"") else { return false }
        index = text.entityTagEnd(from: index + 1)
        guard index < text.byteCount, text.byte(index) == UInt8(ascii: "\"") else { return false }
        index += 1
        return true
    }
}

/// Entity tags of notifications: the revision in quotes. Those of payloads begin with `sha256:`.
package enum RevisionTags {
    package static func append(_ revision: UInt64, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        Decimal.append(revision, to: &out)
        out.append(UInt8(ascii: "\""))
    }
}
