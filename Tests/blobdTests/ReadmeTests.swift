import BlobClient
import BlobStore
import Foundation
import Testing

/// The snippets of the README, compiled and run. A test compares the text, so neither can drift.
@Suite struct ReadmeTests {
    @Test func theLibrarySnippetRuns() throws {
        let folder = try TemporaryFolder()
        let picture = [UInt8](repeating: 7, count: 100_000)
        var shown = 0
        func show(_ bytes: RawSpan) { shown += bytes.byteCount }
        let data = folder.path("data")
        let now = Timestamp(milliseconds: 1_796_083_200_000)

        // README: library
        let store = try BlobStore.open(at: data)

        var writer = store.makePayloadWriter()
        try writer.append(picture.span.bytes)
        let payload = try writer.finish(mediaType: "image/jpeg")
        let day = now.adding(seconds: 86_400)
        try store.publish(Publication(id: "42", payload: payload, expiry: .at(day)), asOf: now)

        // Borrowed straight from the mapped file: two lookups, no copy. Nil: none, or expired.
        let byteCount = try store.withPayload(for: "42", asOf: now) { payload in
            try payload.forEachPiece { piece in show(piece) }
            return payload.byteCount
        }
        // README: end
        #expect(byteCount == 100_000)
        #expect(shown == 100_000)
    }

    @Test func theSnippetsStandInTheReadme() throws {
        let here = URL(fileURLWithPath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(
            contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let source = try String(contentsOf: here, encoding: .utf8)
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "        // README: library"))
        let end = try #require(lines.firstIndex(of: "        // README: end"))
        let snippet = lines[(start + 1)..<end].map { $0.dropFirst(8) }.joined(separator: "\n")
        #expect(readme.contains(snippet), "the README has another text than this test")
    }
}
