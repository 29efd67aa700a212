import BlobStore
import TestSupport
import Testing

@Suite struct PublishTests {
    @Test(
        "What is published is read back, whatever its size",
        arguments: [
            0, 1, 127, 4_095, 4_096, 65_471, 65_472, 65_473, 130_944, 130_945, 300_000, 17 << 20,
        ])
    func roundTrip(byteCount: Int) throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        var generator = SeededGenerator(seed: UInt64(byteCount))
        let bytes = generator.bytes(byteCount)
        let record = try store.put("42", bytes, mediaType: "image/jpeg")
        #expect(record.parts[0].byteCount == byteCount)
        #expect(try store.ownedPayload(for: "42", asOf: noon) == bytes)
        #expect(try store.ownedPayload(digest: record.parts[0].digest, asOf: noon) == bytes)
    }

    @Test("Text is stored compressed and read as given")
    func compression() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let text = Array(String(repeating: "a coupon for you. ", count: 20_000).utf8)
        let record = try store.put("t", text, mediaType: "text/plain; charset=utf-8")
        #expect(record.parts[0].coding == .gzip)
        #expect(record.parts[0].storedByteCount < text.count / 10)
        #expect(try store.ownedPayload(for: "t", asOf: noon) == text)
        let range = try store.ownedPayload(for: "t", asOf: noon, range: 100_000..<100_018)
        #expect(range == Array(text[100_000..<100_018]))
    }

    @Test("Bytes that do not shrink by a tenth are stored as given, though their type promised it")
    func ninetyPercentRule() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        var generator = SeededGenerator(seed: 7)
        let noise = generator.bytes(200_000)
        #expect(try store.put("n", noise, mediaType: "text/plain").parts[0].coding == .identity)
        #expect(try store.ownedPayload(for: "n", asOf: noon) == noise)
    }
}
