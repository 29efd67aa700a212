import TestSupport
import Testing

@testable import BlobStore

/// Blobs that are written ahead, in several transactions, and those that are kept without a reference.
@Suite struct StagedTests {
    @Test("A blob of 40 MB is stored, in transactions of some megabytes, and read back")
    func large() throws {
        let bytes = Self.bytes(40_000_000)
        let record = try store.put("a", bytes)
        let counters = try store.counters()
        #expect(counters.orphanBlobs == 0)
        #expect(counters.orphanBytes == 0)
        #expect(counters.bytesStored == 40_000_000)
        let blob = record.parts[0].blob
        #expect(counters.nextBlobNumber == blob.number + UInt64(blob.chunkCount))
        #expect(try store.ownedPayload(for: "a", asOf: noon) == bytes)
        // The second time nothing is written ahead.
        try store.put("b", bytes)
        let twice = try store.counters()
        #expect(twice.blobs == 1)
        #expect(twice.nextBlobNumber == counters.nextBlobNumber)
        #expect(try store.verify().problems == [])
    }

    @Test("One that is refused at its end leaves an orphan, which freeing removes")
    func refused() throws {
        for index in 0..<StoreLimits.partCountMax { try store.put("a", [1], part: "p\(index)") }
        let error = try failure { try store.put("a", Self.bytes(20_000_000), part: "too-many") }
        #expect(error.field == .parts)
        #expect("\(error)".contains("the limit is \(StoreLimits.partCountMax)"))
        let counters = try store.counters()
        #expect(counters.orphanBlobs == 1)
        #expect(counters.orphanBytes == 20_000_000)
        #expect(counters.blobs == 1)
        #expect(try store.verify().problems == [])
        try store.freeAll()
        let after = try store.counters()
        #expect(after.orphanBlobs == 0)
        #expect(after.orphanBytes == 0)
    }

    @Test("Several parts that are large together: the larger ones are written ahead")
    func severalParts() throws {
        let stored = try store.put("there", Self.bytes(3_000_000)).parts[0].digest
        let contents = [
            Self.bytes(9_000_000), Self.bytes(8_000_000), Self.bytes(1_000),
            Self.bytes(3_000_000), Self.bytes(9_000_000),
        ]
        var draft = NotificationDraft(id: "a", expiry: .at(noon.adding(seconds: 10)))
        draft.owner = "anna"
        for (index, content) in contents.enumerated() {
            draft.parts.append(
                DraftPart(
                    name: "p\(index)", mediaType: "image/png",
                    content: .payload(try store.prepare(content))))
        }
        let change = Change.publishNotification(draft)
        #expect(change.isStaged)
        #expect(change.stagedPayloads.count == 4)
        // One that is refused is refused before anything is written.
        let before = try store.counters()
        var refused = draft
        refused.condition = .exists
        let error = try store.apply(.publishNotification(refused)).error
        #expect(error == .preconditionFailed(PresentState(revision: nil)))
        #expect(try store.counters() == before)

        let record = try #require(try store.apply(change).record)
        #expect(record.parts[3].digest == stored)
        for (index, content) in contents.enumerated() {
            let read = try store.ownedPayload(for: "a", part: "p\(index)", asOf: noon)
            #expect(read == content, "\(index)")
        }
        let counters = try store.counters()
        #expect(counters.blobs == 4)
        #expect(counters.parts == 6)
        #expect(counters.orphanBlobs == 0)
        #expect(try store.verify().problems == [])
    }

    /// Bytes of which no two chunks are the same, made without a step for each.
    private static func bytes(_ count: Int) -> [UInt8] {
        var generator = SeededGenerator(seed: 31)
        let block = generator.bytes(10_007)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + block.count)
        while bytes.count < count { bytes += block }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private func hold(
        _ store: BlobStore, _ bytes: [UInt8], seconds: Int64, asOf now: Timestamp = noon
    ) throws -> (blob: HeldBlob, isNew: Bool) {
        let change = Change.hold(
            BlobHold(try store.prepare(bytes), until: now.adding(seconds: seconds)))
        guard case .held(let blob, let isNew) = try store.apply(change, asOf: now) else {
            throw NothingThrown()
        }
        return (blob, isNew)
    }

    @Test("A large one is written ahead")
    func largeHold() throws {
        let bytes = [UInt8](repeating: 7, count: 20_000_000)
        let (held, isNew) = try hold(store, bytes, seconds: 10)
        #expect(isNew)
        let counters = try store.counters()
        #expect(counters.orphanBlobs == 0)
        #expect(counters.bytesStored == 20_000_000)
        #expect(try store.ownedPayload(digest: held.blob.digest, asOf: noon) == bytes)
    }
}
