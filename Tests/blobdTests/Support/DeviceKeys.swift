import BlobProtocol
import Bytes
import Glibc
import Hashing
import TestSupport

/// The key of a daemon under test, and what is signed with it: also what `blobd sign` and `blobd token` refuse to make.
enum DeviceKeys {
    private static let secret = [UInt8](0..<32)
    private static let secretText = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    static let file = "k \(secretText)\n"

    /// Writes a file with this key under a name, which only its owner may read. Returns its path.
    static func write(_ name: String = "k", in folder: TemporaryFolder) throws -> String {
        let path = try folder.write("keys", Array("\(name) \(secretText)\n".utf8))
        chmod(path, 0o600)
        return path
    }

    /// The flags of a daemon in a folder, with the key's file there and the device socket.
    static func flags(in folder: TemporaryFolder) throws -> [String] {
        let path = "\(folder)/keys"
        if !Files.exists(path) { _ = try write(in: folder) }
        return ["--signing-keys", path, "--device-socket", devicePath(folder)]
    }

    static func devicePath(_ folder: TemporaryFolder) -> String { "\(folder)/device" }

    /// A link to a path, percent-encoded.
    static func link(_ path: String, expiresAt: Int64) -> String {
        let signature = signature(of: "GET\n\(path)\n\(expiresAt)\nk")
        return "\(path)?e=\(expiresAt)&k=k&sig=\(signature)"
    }

    /// A token with these claims.
    static func token(_ claims: String) -> String {
        let signed = [#"{"alg":"HS256","kid":"k"}"#, claims].map {
            var text: [UInt8] = []
            Base64.appendURL(Array($0.utf8).span.bytes, to: &text)
            return String(decoding: text, as: UTF8.self)
        }.joined(separator: ".")
        return "\(signed).\(signature(of: signed))"
    }

    private static func signature(of text: String) -> String {
        let code = HMAC(key: secret).code(of: Array(text.utf8))
        var signature: [UInt8] = []
        Base64.appendURL(code.span.bytes, to: &signature)
        return String(decoding: signature, as: UTF8.self)
    }

    /// A text in which `now+60` and the like are times, in seconds since 1970.
    static func withTimes(_ text: String) -> String {
        text.replacing(#/now\+(\d+)/#) { "\(Int64(time(nil)) + (Int64($0.1) ?? 0))" }
    }
}
