import Foundation

#if canImport(CryptoKit)
import CryptoKit
#else
import Hashing
#endif

/// The SHA-256 of bytes that come in pieces.
struct PayloadHash {
    private var hash = SHA256()

    mutating func update(_ data: Data) {
        #if canImport(CryptoKit)
        hash.update(data: data)
        #else
        hash.update([UInt8](data))
        #endif
    }

    /// As blobd writes it: `sha256:` and 64 hexadecimal digits.
    var text: String {
        #if canImport(CryptoKit)
        let bytes = Array(hash.finalize())
        #else
        let digest = hash.digest()
        let bytes = (0..<SHA256.byteCount).map { digest[$0] }
        #endif
        return "sha256:" + bytes.map { String(format: "%02x", $0) }.joined()
    }
}
