import Glibc
import TestSupport
import Testing

/// `Scripts/demo-replicated`: two hosts, a bucket, and a leader that is killed with its folder.
@Suite(.waiting, .disabled(if: hasSanitizer, "the failover scenario runs under it"))
struct DemoTests {
    private static let script = "\(Files.package)/Scripts/demo-replicated"

    /// Without network namespaces, so that it runs everywhere.
    @Test(.enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func nothingReplicatedIsLost() async throws {
        let folder = TemporaryFolder()
        let ip = try folder.write("ip", Array("#!/bin/sh\necho not today >&2\nexit 1\n".utf8))
        chmod(ip, 0o755)
        let path = "PATH=\(folder.path):$PATH"
        let (end, output, errors) = try await runAside([
            "/bin/sh", "-c",
            "TMPDIR=\(folder.path) \(path) exec timeout -k 30 900 \(Self.script) --moto --short --program \(Files.products)/blobd",
        ])
        let text = String(decoding: output, as: UTF8.self)
        #expect(end == .exited(0), "\(text)\(errors)")
        let row = try #require(text.split(separator: "\n").first { $0.hasPrefix("  replicated ") })
        let figures = row.split(separator: " ").dropFirst()
        #expect(figures.count == 4 && figures.dropFirst(2).first == "0", "\(row)")
        #expect(text.contains("planned promotion") && text.contains("a month of that"))
        #expect(errors.contains("No network namespaces here (not today)"))
        #expect(folder.names == ["ip"], "it cleans up behind itself")
    }

    @Test func anUnknownOptionIsRefused() throws {
        #expect(try run([Self.script, "--motto"]).end == .exited(2))
    }
}
