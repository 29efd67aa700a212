import TestSupport
import Testing

@testable import BlobStore

@Suite struct DeduplicationTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("One image for 3,000 notifications is stored once, and served until the last is gone")
    func manyReferences() throws {
        var generator = SeededGenerator(seed: 1)
        let image = generator.bytes(100_000)
        let size = UInt64(image.count)
        let payload = try store.prepare(image, mediaType: "image/jpeg")
        let expiry = Expiry.at(noon.adding(seconds: 60))
        let count = 3_000
        let outcomes = try store.apply(
            (0..<count).map {
                .publish(Publication(id: "n\($0)", payload: payload, expiry: expiry))
            }, asOf: noon)
        #expect(outcomes.allSatisfy { $0.isDone })
        var expected = Counters()
        expected.notifications = UInt64(count)
        expected.parts = UInt64(count)
        expected.blobs = 1
        expected.bytes = size
        expected.bytesStored = size
        expected.bytesReferenced = size * UInt64(count)
        // Two chunks take two numbers.
        expected.nextBlobNumber += 2
        expected.revision = UInt64(count)
        #expect(try store.counters() == expected)
        let fileByteCount = try store.statistics().fileByteCount
        // Room for some hundred records is allocated ahead, for the image once.
        #expect(fileByteCount < 24 << 20)

        for start in stride(from: 0, to: count - 1, by: 333) {
            let ids = (start..<min(start + 333, count - 1)).map { "n\($0)" }
            let deleted = try store.apply(ids.map { .delete(id: $0) }, asOf: noon)
            #expect(deleted.allSatisfy { $0.isDone })
            expected.notifications -= UInt64(ids.count)
            expected.parts -= UInt64(ids.count)
            expected.bytesReferenced -= size * UInt64(ids.count)
            expected.revision += UInt64(ids.count)
            #expect(try store.counters() == expected)
        }
        #expect(try store.ownedPayload(for: "n\(count - 1)", asOf: noon) == image)
        #expect(try store.verify().problems == [])

        try store.delete("n\(count - 1)", asOf: noon)
        expected.notifications = 0
        expected.parts = 0
        expected.bytesReferenced = 0
        expected.blobs = 0
        expected.bytes = 0
        expected.bytesStored = 0
        expected.orphanBlobs = 1
        expected.orphanBytes = size
        expected.revision += 1
        #expect(try store.counters() == expected)
        #expect(try store.lookUp(payload.digest) == .missing)

        let before = try store.statistics().freeByteCount
        let freed = try store.freeOrphans(byteCountMax: 1 << 20)
        #expect(freed.blobs == 1)
        #expect(freed.bytes == image.count)
        #expect(!freed.more)
        expected.orphanBlobs = 0
        expected.orphanBytes = 0
        #expect(try store.counters() == expected)
        #expect(try store.statistics().freeByteCount - before > image.count - 65_536)
        #expect(try store.verify().problems == [])
    }

    @Test("Replacing a payload by the same bytes keeps the blob where it is")
    func replaceBySame() throws {
        let first = try store.put("a", [1, 2, 3])
        let second = try store.put("a", [1, 2, 3], mediaType: "image/png")
        #expect(second.parts[0].blob == first.parts[0].blob)
        #expect(second.parts[0].mediaType == "image/png")
        #expect(second.revision == first.revision + 1)
        let counters = try store.counters()
        #expect(counters.orphanBlobs == 0)
        #expect(counters.bytesReferenced == 3)
    }

    @Test("A payload that comes back while its old chunks wait to be freed gets new ones")
    func comesBack() throws {
        let bytes = [UInt8](repeating: 9, count: 70_000)
        let first = try store.put("a", bytes)
        try store.delete("a", asOf: noon)
        #expect(try store.put("b", bytes).parts[0].blob.number != first.parts[0].blob.number)
        try store.freeAll()
        #expect(try store.ownedPayload(for: "b", asOf: noon) == bytes)
        #expect(try store.verify().problems == [])
    }

    @Test("The first publisher's coding counts: a blob is stored one way only")
    func oneCoding() throws {
        let text = [UInt8](repeating: 0x61, count: 5_000)
        let first = try store.put("a", text, mediaType: "application/octet-stream")
        let second = try store.put("b", text, mediaType: "text/plain")
        #expect(first.parts[0].coding == .identity)
        #expect(second.parts[0].coding == .identity)
        #expect(second.parts[0].mediaType == "text/plain")
        #expect(try store.counters().bytesStored == 5_000)
    }
}
