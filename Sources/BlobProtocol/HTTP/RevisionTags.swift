/// Entity tags of notifications: the revision in quotes, `"1234"`. They are strong, and differ from
/// those of payloads, which begin with `sha256:`.
public enum RevisionTags {
    /// What a list of tags names.
    public enum Named: Sendable, Hashable {
        /// `*`: whatever there is.
        case any
        /// These revisions. Tags of other kinds and weak ones name none (RFC 9110, section
        /// 13.1.1).
        case revisions([UInt64])
    }

    /// Appends the tag.
    public static func append(_ revision: UInt64, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        Decimal.append(revision, to: &out)
        out.append(UInt8(ascii: "\""))
    }

    /// What the lines of an `If-Match` name.
    public static func named(by lines: FieldLines, in bytes: RawSpan) -> Named {
        var revisions: [UInt64] = []
        for index in 0..<lines.count {
            let line = lines[index].of(bytes)
            if line.equals("*") { return .any }
            var list = ListElements()
            while let element = list.next(line) {
                if let revision = revision(element.of(line)) { revisions.append(revision) }
            }
        }
        return .revisions(revisions)
    }

    /// The revision of a tag; nil for a tag of another kind. Tags are compared as texts, so one with
    /// a zero in front is another.
    private static func revision(_ tag: RawSpan) -> UInt64? {
        let count = tag.byteCount
        guard count >= 3, tag.byte(0) == UInt8(ascii: "\""),
            tag.byte(count - 1) == UInt8(ascii: "\"")
        else { return nil }
        let digits = tag.extracting(1..<count - 1)
        guard digits.byteCount == 1 || digits.byte(0) != UInt8(ascii: "0"),
            case .value(let revision) = Decimal.parse(digits)
        else { return nil }
        return revision
    }
}
