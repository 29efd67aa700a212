import TestSupport
import Testing

/// The models of replication in docs/models: what they say holds, and each rule is needed.
@Suite struct ModelsTests {
    private static let script = "\(Files.package)/Scripts/models"

    @Test(
        "Every state of the models is searched, and every broken rule shows",
        .enabled(if: hasTools, "needs spin and gcc"),
        .disabled(if: hasSanitizer, "a sanitizer changes nothing in them"))
    func models() async throws {
        let (end, output, errors) = try await runAside(["timeout", "900", Self.script])
        let text = String(decoding: output, as: UTF8.self)
        #expect(end == .exited(0), "\(text)\(errors)")
        let names = String(decoding: try run([Self.script, "list"]).output, as: UTF8.self)
            .split(separator: "\n")
        #expect(names.count >= 39)
        let verdicts = [
            "append": "holds", "collect": "holds", "collect-reader": "holds", "blobs": "holds",
            "append-all-acknowledge": "reached", "collect-all-acknowledge": "reached",
            "blobs-all-acknowledge": "reached",
            "append-skip": "fails, as it should", "append-two": "fails, as it should",
            "collect-fences": "fails, as it should",
            "collect-unled": "fails, as it should",
            "collect-no-base-check": "fails, as it should",
            "collect-trust-fences": "fails, as it should",
            "blobs-content-names": "fails, as it should",
            "append-merge": "fails, as it should",
            "blobs-no-get": "fails, as it should",
            "blobs-no-list": "fails, as it should",
            "blobs-gap-fences": "fails, as it should",
            "blobs-gap-names": "fails, as it should",
        ]
        let lines = text.split(separator: "\n")
        for name in names {
            let line = lines.first { $0.hasPrefix("\(name) ") }
            let verdict = line?.dropFirst(name.count).drop { $0 == " " }
            #expect(verdict?.contains(" states ") == true, "\(name): \(line ?? "no line")")
            if let expected = verdicts[String(name)] {
                #expect(verdict?.hasPrefix(expected) == true, "\(name): \(line ?? "no line")")
            }
        }
    }

    @Test("An unknown run is refused")
    func unknownRun() throws {
        let (end, _, errors) = try run([Self.script, "apend"])
        #expect(end == .exited(2))
        #expect(errors.contains("There is no run \"apend\""))
    }

    private static let hasTools =
        (try? run(["sh", "-c", "command -v spin && command -v gcc"]).end) == .exited(0)
}
