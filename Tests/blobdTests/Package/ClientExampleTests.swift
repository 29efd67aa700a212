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

    @Test(.enabled(if: has("python3 --version"), "python3 is not here")) func python() async throws
    {
        try await check(["python3", "\(Self.folder)/client.py"])
    }

    @Test(
        .enabled(
            if: has("node -e 'process.exit(parseInt(process.versions.node) >= 16 ? 0 : 1)'"),
            "node is not here")) func node() async throws
    {
        try await check(["node", "\(Self.folder)/client.mjs"])
    }

    @Test(
        .enabled(
            if: has("javac --version | grep -qE ' (1[6-9]|[2-9][0-9])'"), "java is not here"))
    func java() async throws {
        try await check(["java", "\(Self.folder)/Client.java"])
    }

    @Test(.enabled(if: has("go version"), "go is not here")) func go() async throws {
        let cache = TemporaryFolder()
        defer { withExtendedLifetime(cache) {} }
        try await check(
            ["go", "run", "\(Self.folder)/client.go"],
            ["GOCACHE": cache.path, "GO111MODULE": "off", "GOFLAGS": ""])
    }

    @Test(.enabled(if: has("ruby --version"), "ruby is not here")) func ruby() async throws {
        try await check(["ruby", "\(Self.folder)/client.rb"])
    }

    @Test(
        .enabled(
            if: has("php -r 'exit(function_exists(\"curl_init\") ? 0 : 1);'"),
            "php is not here")) func php() async throws
    {
        try await check(["php", "\(Self.folder)/client.php"])
    }

    @Test func swift() async throws {
        try await check(["\(Files.products)/blobd-client-example"])
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

    /// Whether a program is here.
    private static func has(_ command: String) -> Bool {
        (try? run(["/bin/sh", "-c", command]))?.end == .exited(0)
    }

    private func check(
        _ command: [String], _ environment: [String: String] = [:]
    ) async throws {
        #expect(Self.expected.hasPrefix("published: 201\n"))
        let folder = TemporaryFolder()
        let keys = try folder.write("keys", Array("a \(String(repeating: "AB", count: 22))\n".utf8))
        chmod(keys, 0o600)
        let daemon = try DaemonProcess(["--signing-keys", keys], in: folder)
        defer { withExtendedLifetime(daemon) {} }
        let photo = "\(Files.package)/Examples/payloads/photo.jpg"
        let (end, output, errors) = try await runAside(
            ["timeout", "900"] + command + [daemon.socketPath, photo, keys],
            environment: environment)
        #expect(end == .exited(0), "\(errors)")
        #expect(String(decoding: output, as: UTF8.self) == Self.expected)
    }
}
