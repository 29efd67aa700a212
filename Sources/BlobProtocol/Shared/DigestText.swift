import Bytes

/// A digest as text: `sha256:` and 64 hexadecimal digits, as registries write it.
public enum DigestText {
    /// The size of the text, in bytes.
    public static let byteCount = 71

    /// Reads a digest. Digits of either case are taken, and a `%3A` for the colon, as some clients
    /// encode it in a path. Throws `bad_digest`.
    public static func parse(_ text: RawSpan) throws(ProtocolError) -> InlineArray<32, UInt8> {
        var digest = InlineArray<32, UInt8>(repeating: 0)
        let digits: RawSpan
        if text.hasPrefixIgnoringCase("sha256:") {
            digits = text.extracting(droppingFirst: 7)
        } else if text.hasPrefixIgnoringCase("sha256%3a") {
            digits = text.extracting(droppingFirst: 9)
        } else {
            throw refused(text)
        }
        guard digits.byteCount == 64 else { throw refused(text) }
        for index in 0..<32 {
            guard let high = Hex.value(digits.byte(2 * index)),
                let low = Hex.value(digits.byte(2 * index + 1))
            else { throw refused(text) }
            digest[index] = high << 4 | low
        }
        return digest
    }

    /// Appends the text for a digest of 32 bytes.
    public static func append(_ digest: RawSpan, to out: inout [UInt8]) {
        out.append("sha256:")
        Hex.append(digest, to: &out)
    }

    private static func refused(_ text: RawSpan) -> ProtocolError {
        ProtocolError(
            .badDigest, "the digest \(text.excerpt()) must have the form sha256:<64 hex digits>")
    }
}
