internal import CCrypto

/// SHA-256 (FIPS 180-4) of bytes that come in pieces of any size.
///
/// A value of 112 bytes: it allocates nothing, and a copy continues by itself.
///
/// libcrypto's `SHA256_Init`, `SHA256_Update` and `SHA256_Final`. OpenSSL 3 prefers `EVP_Digest…`,
/// which does the same with two allocations a digest and about 45 ns more, and reads OpenSSL's
/// configuration before the first.
package struct SHA256: Sendable {
    /// The size of a digest in bytes.
    package static let byteCount = 32

    private var context = SHA256_CTX()

    package init() {
        let isReady = unsafe SHA256_Init(&context)
        precondition(isReady == 1)
    }

    /// Takes in some more bytes, and keeps nothing of them but what does not fill a block of 64.
    package mutating func update(_ bytes: RawSpan) {
        // The bytes are read during the call only.
        let isTaken = unsafe bytes.withUnsafeBytes {
            unsafe SHA256_Update(&context, $0.baseAddress, $0.count)
        }
        precondition(isTaken == 1)
    }

    /// Takes in some more bytes.
    package mutating func update(_ bytes: [UInt8]) { unsafe update(bytes.span.bytes) }

    /// The digest of all bytes so far.
    package func digest() -> InlineArray<32, UInt8> {
        var context = context
        var digest = InlineArray<32, UInt8>(repeating: 0)
        var span = digest.mutableSpan
        // As many bytes as a digest has are written, during the call.
        let isWritten = unsafe span.withUnsafeMutableBufferPointer {
            unsafe SHA256_Final($0.baseAddress, &context)
        }
        precondition(isWritten == 1)
        return digest
    }

    /// The digest of these bytes.
    package static func digest(of bytes: RawSpan) -> InlineArray<32, UInt8> {
        var hash = SHA256()
        hash.update(bytes)
        return hash.digest()
    }
}
