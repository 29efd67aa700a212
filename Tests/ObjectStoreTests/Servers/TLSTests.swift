import Synchronization
import TestSupport
import Testing

@testable import ObjectStore

/// HTTPS: a certificate is checked, against those of the system or of `AWS_CA_BUNDLE`.
@Suite struct TLSTests {
    @Test(
        "Requests go over TLS with a certificate that is known, and over no other",
        .enabled(if: hasPrograms, "python3 or openssl is not here"))
    func certificates() async throws {
        try await RealServerTests.aside { () throws in
            let folder = TemporaryFolder()
            let objects = StoredObjects()
            let server = try ScriptedServer { objects.answer($0) { _ in true } }
            let proxy = try Child(
                "/usr/bin/env",
                [
                    "python3", "\(Files.package)/Tests/ObjectStores/tls-proxy.py", "\(folder)",
                    "\(server.port)",
                ])
            let port = try #require(proxy.readLine())
            func client(_ host: String, _ certificates: String) throws -> ObjectClient {
                try bucket(
                    server,
                    environment: [
                        "AWS_ENDPOINT_URL": "https://\(host):\(port)",
                        "AWS_CA_BUNDLE": certificates,
                    ]
                ).makeClient()
            }
            let known = try client("localhost", folder.path("certificate"))
            let bytes = SeededGenerator.bytes(300_000)
            #expect(try known.create("a", bytes.span.bytes) == .created)
            #expect(try known.create("a", bytes.span.bytes) == .exists)
            #expect(try known.get("a", byteCountMax: bytes.count) == bytes)
            #expect(Set(server.requests.map(\.connection)) == [0], "the connection was not kept")
            let before = server.requests.count
            // Another name, the system's certificates, and none.
            for other in [
                try client("127.0.0.1", folder.path("certificate")), try client("localhost", ""),
                try client("localhost", folder.path("none")),
            ] {
                let error = #expect(throws: ObjectStoreError.self) {
                    try other.create("b", bytes.span.bytes)
                }
                #expect(error?.kind == .notReachable, "\(error.map { "\($0)" } ?? "")")
            }
            #expect(server.requests.count == before)
            withExtendedLifetime(proxy) {}
        }
    }

    private static let hasPrograms =
        (try? run(["/bin/sh", "-c", "command -v python3 && command -v openssl"]).end) == .exited(0)
}
