import Foundation
import TestSupport
import Testing

/// `docs/RECIPES-REPLICATION.md` and its files.
@Suite(.waiting) struct ReplicaRecipeTests {
    private static let folder = "\(Files.package)/docs/examples/replicas"
    private static let document = Files.text("\(Files.package)/docs/RECIPES-REPLICATION.md")

    private static let files = [
        "haproxy.cfg", "haproxy-host.cfg", "nginx-replicas.conf", "nginx-shards.conf", "03.yaml",
        "blobd@.service.d/bucket.conf",
    ]

    @Test("Each block of the document stands in a file, and the document names each file")
    func blocks() throws {
        let texts = Self.files.map { Files.text("\(Self.folder)/\($0)") }
        for language in ["haproxy", "nginx", "yaml"] {
            let blocks = DocumentBlock.all(ofText: Self.document, kind: language).map(\.text)
            #expect(!blocks.isEmpty)
            for block in blocks {
                #expect(texts.contains { $0.contains(block) }, "\(block)")
            }
        }
        for file in Self.files.filter({ $0 != "03.yaml" }) {
            #expect(Self.document.contains("(examples/replicas/\(file))"), "\(file)")
        }
    }

    @Test("The configuration of a shard is one")
    func configuration() throws {
        let (end, output, errors) = try run(
            [
                DaemonProcess.program, "serve", "--config", "\(Self.folder)/03.yaml",
                "--data", "/var/lib/blobd-03", "--socket", "/run/blobd-03/blobd.sock",
                "--print-config",
            ], environment: ["CREDENTIALS_DIRECTORY": "/run/credentials"])
        #expect(end == .exited(0), "\(errors)")
        #expect(String(decoding: output, as: UTF8.self).contains("s3://bucket/pushes/03"))
    }

    @Test(
        "systemd takes the drop-in of the instances",
        .enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0, "needs systemd-analyze"))
    func dropIn() throws {
        let folder = TemporaryFolder()
        mkdir(folder.path("blobd@.service.d"), 0o755)
        let unit = Files.text("\(Files.package)/Packaging/systemd/blobd@.service")
        try folder.write(
            "blobd@.service", Array(unit.replacing("/usr/bin/blobd", with: "/bin/true").utf8))
        let name = "blobd@.service.d/bucket.conf"
        try folder.write(name, Array(Files.text("\(Self.folder)/\(name)").utf8))
        let (end, output, errors) = try run(
            ["systemd-analyze", "verify", "--man=no", folder.path("blobd@03.service")],
            environment: ["SYSTEMD_UNIT_PATH": "\(folder.path):"])
        let words = String(decoding: output, as: UTF8.self) + errors
        #expect(end == .exited(0) && !words.contains("bucket.conf"), "\(words)")
    }

    private static func has(_ program: String) -> Bool {
        (try? run(["/bin/sh", "-c", "PATH=$PATH:/usr/sbin command -v \(program)"]).end)
            == .exited(0)
    }

    @Test(
        "nginx and HAProxy find the leader, and the next one",
        .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"),
        .enabled(if: has("nginx") && has("haproxy"), "needs nginx and HAProxy"),
        .disabled(if: hasSanitizer, "the daemons are the same"))
    func check() async throws {
        let (end, output, errors) = try await runAside([
            "timeout", "-k", "30", "900", "\(Files.package)/Scripts/replicas-check", "--short",
            DaemonProcess.program,
        ])
        let words = String(decoding: output, as: UTF8.self) + errors
        #expect(end == .exited(0), "\(words)")
        #expect(words.contains(" checks hold, in "), "\(words)")
    }
}
