/// HMAC-SHA-256 (RFC 2104) with one key, whose two blocks are hashed once.
package struct HMAC: Sendable {
    private var inner = SHA256()
    private var outer = SHA256()
    private static let blockByteCount = 64

    /// - Parameter key: of any length; one over 64 bytes is hashed first.
    package init(key: [UInt8]) {
        var block = key
        if key.count > Self.blockByteCount {
            let digest = unsafe SHA256.digest(of: key.span.bytes)
            block = (0..<SHA256.byteCount).map { digest[$0] }
        }
        block += [UInt8](repeating: 0, count: Self.blockByteCount - block.count)
        inner.update(block.map { $0 ^ 0x36 })
        outer.update(block.map { $0 ^ 0x5C })
    }

    /// A text to be hashed: its pieces are given to it, and it to ``code(of:)``.
    package var text: SHA256 { inner }

    /// The code of a text that ``text`` began. Allocates nothing.
    package func code(of text: SHA256) -> InlineArray<32, UInt8> {
        let digest = text.digest()
        var outer = outer
        unsafe outer.update(digest.span.bytes)
        return outer.digest()
    }

    package func code(of text: [UInt8]) -> InlineArray<32, UInt8> {
        var hash = self.text
        hash.update(text)
        return code(of: hash)
    }
}
