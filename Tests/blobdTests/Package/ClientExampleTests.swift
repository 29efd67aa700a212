import Glibc
import TestSupport
import Testing

/// The clients of `docs/CLIENTS.md`, each with a daemon of its own. All say the same.
@Suite(.waiting) struct ClientExampleTests {
    private static let folder = "\(Files.package)/Examples/clients"
    private static let document = Files.text("\(Files.package)/docs/CLIENTS.md")

    /// What each says: it stands in the document.
    private static let expected =
        Session.all(in: "docs/CLIENTS.md").first?.steps.last?.expected?.map { $0 + "\n" }.joined()
        ?? ""

    /// Each with a command that succeeds where it can run.
    private static let clients = [
        ("python3 --version", ["python3", "\(folder)/client.py"]),
        (
            "node -e 'process.exit(parseInt(process.versions.node) >= 16 ? 0 : 1)'",
            ["node", "\(folder)/client.mjs"]
        ),
        (
            "javac --version | grep -qE ' (1[6-9]|[2-9][0-9])'",
            ["java", "\(folder)/Client.java"]
        ),
        ("go version", ["go", "run", "\(folder)/client.go"]),
        ("ruby --version", ["ruby", "\(folder)/client.rb"]),
        (
            "php -r 'exit(function_exists(\"curl_init\") ? 0 : 1);'",
            ["php", "\(folder)/client.php"]
        ),
        ("true", ["\(Files.products)/blobd-client-example"]),
    ].filter { (try? run(["/bin/sh", "-c", $0.0]))?.end == .exited(0) }.map(\.1)

    @Test("Each client says what the document shows", arguments: clients)
    func check(client: [String]) async throws {
        #expect(Self.expected.hasPrefix("published: 201\n"))
        let folder = TemporaryFolder()
        let keys = try folder.write("keys", Array("a \(String(repeating: "AB", count: 22))\n".utf8))
        chmod(keys, 0o600)
        let daemon = try DaemonProcess(["--signing-keys", keys], in: folder)
        defer { withExtendedLifetime(daemon) {} }
        let photo = "\(Files.package)/Examples/payloads/photo.jpg"
        let (end, output, errors) = try await runAside(
            ["timeout", "900"] + client + [daemon.socketPath, photo, keys],
            environment: ["GOCACHE": folder.path("go"), "GO111MODULE": "off", "GOFLAGS": ""])
        #expect(end == .exited(0), "\(errors)")
        #expect(String(decoding: output, as: UTF8.self) == Self.expected)
    }

    @Test func eachClientIsLinkedFromTheDocument() {
        for name in [
            "client.py", "client.mjs", "Client.java", "client.go", "client.rb", "client.php",
            "swift/main.swift",
        ] {
            #expect(Self.document.contains("](../Examples/clients/\(name))"), "\(name)")
            #expect(Files.exists("\(Self.folder)/\(name)"))
        }
    }
}
