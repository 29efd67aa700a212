@_exported public import struct Notifications.Digest

import Bytes

extension Digest {
    /// Reads `sha256:` and 64 hexadecimal digits. Digits of either case are taken, and a `%3A` for the
    /// colon, as some clients encode it in a path. Throws `bad_digest`.
    public init(onWire text: RawSpan) throws(ProtocolError) {
        var prefix = 7
        if text.hasPrefixIgnoringCase("sha256%3a") {
            prefix = 9
        } else if !text.hasPrefixIgnoringCase("sha256:") {
            prefix = text.byteCount
        }
        guard let digest = Digest(hexOfEitherCase: text.extracting(droppingFirst: prefix)) else {
            throw ProtocolError(
                .badDigest, "the digest \(text.excerpt()) must have the form sha256:<64 hex digits>"
            )
        }
        self = digest
    }
}
