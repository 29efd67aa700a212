import TestSupport
import Testing

@testable import ObjectStore

/// What a client takes of memory, in a process of its own.
@Suite struct MemoryTests {
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
