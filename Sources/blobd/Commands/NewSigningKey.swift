import BlobProtocol
import FoundationEssentials

/// A new key of links, in a file of its own.
enum NewSigningKey {
    /// Makes the file, whole and synced, or none. What exists is never replaced. Nothing says anything of the key.
    static func make(_ path: String, id: String) throws(CommandFailure) {
        // The system's generator is the kernel's (`getrandom`).
        var generator = SystemRandomNumberGenerator()
        let key = (0..<SigningKeys.keyByteCountRange.lowerBound).map { _ in
            UInt8.random(in: .min ... .max, using: &generator)
        }
        let line = Array("\(id) \(Data(key).base64EncodedString())\n".utf8)
        let keys: SigningKeys?
        do throws(SigningKeyError) {
            keys = try SigningKeys(parsing: line)
        } catch {
            throw CommandFailure(.badUsage, "--key-id '\(HumanText.line(id))': \(error)")
        }
        // A line end would make it two keys.
        guard keys?.ids == [id] else {
            throw CommandFailure(.badUsage, "--key-id '\(HumanText.line(id))' is not an id")
        }
        let file = try NewFile(path, isNew: true, mode: 0o600)
        try file.write(line.span.bytes)
        try file.keepNew()
    }
}
