import Glibc
import TestSupport

/// An S3 server of this machine, with an empty bucket "test", for as long as this lives.
final class BucketServer {
    /// What a daemon needs to reach it.
    let environment: [String: String]
    private let folder: String
    private let script: String

    /// Starts one.
    ///
    /// - Parameters:
    ///   - kind: `moto` or `rgw`.
    ///   - folder: for its files.
    init(_ kind: String, in folder: String) throws {
        self.folder = folder
        script = try Self.script()
        let port = 21_000 + 2 * (Int(getpid()) % 4_000)
        let (end, output, errors) = try run([script, "start", kind, folder, "\(port)"])
        try require(
            end == .exited(0),
            "\(kind) did not start: \(String(decoding: output, as: UTF8.self)) \(errors)")
        var environment: [String: String] = [:]
        for line in String(decoding: output, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { environment[parts[0]] = parts[1] }
        }
        self.environment = environment
    }

    /// The project's script, found from the folder of this program's sources.
    private static func script() throws -> String {
        var path = #filePath
        for _ in 0..<4 {
            guard let slash = path.lastIndex(of: "/") else { break }
            path = String(path[..<slash])
        }
        let script = path + "/Scripts/object-store"
        try require(access(script, X_OK) == 0, "there is no \(script)")
        return script
    }

    deinit { _ = try? run([script, "stop", folder]) }
}
