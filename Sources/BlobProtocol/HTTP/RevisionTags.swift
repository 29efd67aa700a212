import Bytes

/// Entity tags of notifications: the revision in quotes, `"1234"`. They are strong, and differ from
/// those of payloads, which begin with `sha256:`.
public enum RevisionTags {
    /// Appends the tag.
    public static func append(_ revision: UInt64, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        Decimal.append(revision, to: &out)
        out.append(UInt8(ascii: "\""))
    }
}
