import Glibc
import TestSupport
import Testing

/// The clients of `docs/CLIENTS.md`, each with a daemon of its own, a feed of more than a page, and a file of keys that
/// begins with a comment: clients read one page only, and took the comment for a key. All say the same.
@Suite(.waiting) struct ClientExampleTests {
    private static let folder = "\(Files.package)/Examples/clients"
    private static let document = Files.text("\(Files.package)/docs/CLIENTS.md")

    /// What each says: it stands in the document.
    private static let expected =
        Session.all(in: "docs/CLIENTS.md").first?.steps.last?.expected?.map { $0 + "\n" }.joined()
        ?? ""

    // One test for each language: what is not here is named where it is not run.

    @Test("The client in Python says what the document shows")
    func python() async throws { try await check(["python3", "client.py"]) }

    @Test("The client in JavaScript does", .enabled(if: hasNode, "node is not here"))
    func javaScript() async throws { try await check(["node", "client.mjs"]) }

    @Test("The client in Java does", .enabled(if: hasJava, "java is not here"))
    func java() async throws { try await check(["java", "Client.java"]) }

    @Test("The client in Go does", .enabled(if: has("go version"), "go is not here"))
    func go() async throws { try await check(["go", "run", "client.go"]) }

    @Test("The client in Ruby does", .enabled(if: has("ruby --version"), "ruby is not here"))
    func ruby() async throws { try await check(["ruby", "client.rb"]) }

    @Test("The client in PHP does", .enabled(if: hasPHP, "php is not here"))
    func php() async throws { try await check(["php", "client.php"]) }

    @Test("The client in Swift does")
    func swift() async throws { try await check(["\(Files.products)/blobd-client-example"]) }

    private static let hasNode = has(
        "node -e 'process.exit(parseInt(process.versions.node) >= 16 ? 0 : 1)'")
    private static let hasJava = has("javac --version | grep -qE ' (1[6-9]|[2-9][0-9])'")
    private static let hasPHP = has("php -r 'exit(function_exists(\"curl_init\") ? 0 : 1);'")

    /// Whether a command succeeds.
    private static func has(_ command: String) -> Bool {
        (try? run(["/bin/sh", "-c", command]))?.end == .exited(0)
    }

    /// Runs a client, whose file is the last word.
    private func check(_ words: [String]) async throws {
        #expect(Self.expected.hasPrefix("published: 201\n"))
        let file = words.last.map { $0.hasPrefix("/") ? $0 : "\(Self.folder)/\($0)" } ?? ""
        let client = words.dropLast() + [file]
        let folder = TemporaryFolder()
        let key = "a \(String(repeating: "AB", count: 22))"
        let keys = try folder.write("keys", Array("# rotated yearly\n\n\(key)\n".utf8))
        chmod(keys, 0o600)
        let daemon = try DaemonProcess(["--signing-keys", keys], in: folder)
        defer { withExtendedLifetime(daemon) {} }
        let earlier = (1...100).map { #"{"id":"earlier-\#($0)","owner":"ann","message":"m"}"# }
        let stored = try daemon.request(
            "POST", "/v1/notifications:batch", ["Content-Type": "application/x-ndjson"],
            body: Array(earlier.joined(separator: "\n").utf8))
        #expect(stored.status == 200)
        let photo = "\(Files.package)/Examples/payloads/photo.jpg"
        let (end, output, errors) = try await runAside(
            ["timeout", "900"] + client + [daemon.socketPath, photo, keys],
            environment: ["GOCACHE": folder.path("go"), "GO111MODULE": "off", "GOFLAGS": ""])
        #expect(end == .exited(0), "\(errors)")
        let lines = String(decoding: output, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        let own = lines.filter { !$0.hasPrefix("change: published earlier-") }
        #expect(lines.count - own.count == earlier.count)
        #expect(own.joined(separator: "\n") == Self.expected)
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
