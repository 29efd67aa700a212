import Synchronization
import TestSupport
import Testing

@testable import ObjectStore

/// What a client does besides requests: it checks certificates, against those of the system or of `AWS_CA_BUNDLE`, and
/// gives memory back.
@Suite struct ClientTests {
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

    @Test(
        "2,000 rounds of all operations take no more memory than 500",
        .disabled(if: isSanitized, "the sanitizer's memory is not the client's"))
    func noGrowth() throws {
        let objects = StoredObjects()
        let server = try ScriptedServer { objects.answer($0) }
        let (end, output, errors) = try run(
            ["\(Files.products)/object-store-load", "s3://bucket/store", "2000", "4096"],
            environment: [
                "AWS_ENDPOINT_URL": server.url, "AWS_ACCESS_KEY_ID": "a",
                "AWS_SECRET_ACCESS_KEY": "b",
            ])
        let words = String(decoding: output, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        try #require(end == .exited(0) && words.count >= 6, "\(errors) \(words)")
        func figure(_ name: Substring) -> Int {
            words.lastIndex(of: name).flatMap { Int(words[$0 + 1]) } ?? 0
        }
        #expect(figure("warm") > 0)
        // Pages of the runtime's own, that are touched late.
        #expect(figure("end") - figure("warm") < 512, "\(words)")
        #expect(server.requests.count >= 6_200)
    }
}

/// Whether the tests run with a sanitizer, whose memory is not ours.
private let isSanitized = ProcessEnvironment.process["TEST_SANITIZER"] != nil
