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

    /// The code of pieces that follow one another.
    package func code(of pieces: [[UInt8]]) -> InlineArray<32, UInt8> {
        var inner = inner
        for piece in pieces { inner.update(piece) }
        let digest = inner.digest()
        var outer = outer
        unsafe outer.update(digest.span.bytes)
        return outer.digest()
    }
}

package enum ConstantTime {
    /// Whether both are the same, in a time that depends on nothing but their lengths.
    package static func equals(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        var difference: UInt8 = one.count == other.count ? 0 : 1
        for index in one.indices {
            difference |= one[index] ^ (index < other.count ? other[index] : 0)
        }
        return difference == 0
    }
}
