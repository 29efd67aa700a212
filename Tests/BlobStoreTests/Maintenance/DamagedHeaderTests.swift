import Bytes
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// One damaged header of a page stopped freeing for good: liblmdb frees as many pages as the first of a value says, so
/// such a value is not removed, and everything else waited for it.
@Suite struct DamagedHeaderTests {
    private let folder = TemporaryFolder()

    private static let ids = (0..<6).map { "n\($0)" }
    private static let chunk = StoreLimits.chunkByteCountMax

    /// Payloads of three chunks, or of six, which are freed in steps.
    private static func bytes(_ id: String, chunkCount: Int) -> [UInt8] {
        SeededGenerator.bytes(
            chunkCount * chunk - 5_000, seed: UInt64(chunkCount * 100) + UInt64(id.utf8.last ?? 0))
    }

    /// Damages the header of a chunk of a payload; the bytes of the payload stay what they are.
    private func damage(
        _ payload: [UInt8], chunk index: Int, _ field: Files.PageField, bit: UInt8 = 0
    ) throws {
        let offset = index == 0 ? 0 : payload.count - (chunkCount(payload) - index) * Self.chunk
        try Files.damageHeader(
            ofPageWith: payload[offset..<offset + 32], field, bit: bit,
            in: folder.path("data.mdb"))
    }

    private func chunkCount(_ payload: [UInt8]) -> Int { ChunkLayout.count(of: payload.count) }

    private func fill(_ store: BlobStore, chunkCount: Int = 3) throws -> BlobReference {
        for id in Self.ids { try store.put(id, Self.bytes(id, chunkCount: chunkCount)) }
        try store.put("live", Self.bytes("live", chunkCount: chunkCount))
        return try #require(try store.record(for: "n2", asOf: noon)).parts[0].blob
    }

    /// Freeing has stepped over one blob, and says so once.
    private func expectOneLeft(
        _ store: BlobStore, _ blob: BlobReference, _ location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try store.counters().orphanBlobs == 1, sourceLocation: location)
        let named = store.takeIrremovableBlobs()
        #expect(named.map(\.number) == [blob.number], sourceLocation: location)
        #expect(named.first?.why.contains("table chunks") == true, sourceLocation: location)
        #expect(store.damageCounts.chunks == 1, sourceLocation: location)
        #expect(
            try store.freeOrphans(byteCountMax: 64 << 20) == FreeResult(), sourceLocation: location)
        #expect(store.takeIrremovableBlobs().isEmpty, sourceLocation: location)
    }

    @Test(
        "Freeing steps over a blob in a damaged page, names it once, and frees the others",
        arguments: [3, 6], Files.PageField.allCases)
    func freed(chunkCount: Int, _ field: Files.PageField) throws {
        let blob: BlobReference
        do {
            let store = try folder.open()
            blob = try fill(store, chunkCount: chunkCount)
            for id in Self.ids.prefix(4) { try store.delete(id, asOf: noon) }
            let payload = Self.bytes("n2", chunkCount: chunkCount)
            // Another flag of its kind, a number or a count that is another's, and the flag of a page in memory.
            // The first chunk is the one that freeing comes to after the blob in front.
            try damage(
                payload, chunk: chunkCount == 3 ? 1 : 0, field, bit: field == .flags ? 4 : 1)
            try store.freeAll()
            try expectOneLeft(store, blob)
        }
        // Again after a restart.
        let store = try folder.open()
        for id in Self.ids.dropFirst(4) { try store.delete(id, asOf: noon) }
        try store.freeAll()
        try expectOneLeft(store, blob)
        try store.put("new", Self.bytes("new", chunkCount: chunkCount))
        for id in ["live", "new"] {
            #expect(
                try store.ownedPayload(for: id, asOf: noon)
                    == Self.bytes(id, chunkCount: chunkCount))
        }
        let report = try store.verify()
        #expect(report.problemCount > 0)
        #expect(!report.problems.contains { $0.contains("is free since") }, "\(report.problems)")
    }

    @Test("A change that frees on the side is not refused for a damaged page, and others are freed")
    func beside() throws {
        let store = try folder.open()
        let size = FreeingInChangeTests.byteCount
        func bytes(_ number: Int) -> [UInt8] { SeededGenerator.bytes(size, seed: UInt64(number)) }
        for number in 0..<8 { try store.put("\(number)", bytes(number)) }
        let blob = try #require(try store.record(for: "1", asOf: noon)).parts[0].blob
        try damage(bytes(1), chunk: 1, .pageCount)
        for number in 0..<6 {
            let outcomes = try store.apply(
                [.delete(id: "\(number)")], asOf: noon, freeing: 64 << 20)
            #expect(outcomes.map(\.isDone) == [true])
        }
        let outcomes = try store.apply(
            [.publish(try store.publication("new", [1]))], asOf: noon, freeing: 64 << 20)
        #expect(outcomes.map(\.isDone) == [true])
        // What the last change but one orphaned is free with the last, and so on.
        #expect(try store.counters().orphanBlobs <= 2)
        #expect(store.takeIrremovableBlobs().map(\.number) == [blob.number])
        try store.freeAll()
        #expect(try store.counters().orphanBlobs == 1)
        for number in 6..<8 {
            #expect(try store.ownedPayload(for: "\(number)", asOf: noon) == bytes(number))
        }
    }

    /// The value was replaced, and as many pages were freed as the damaged header said: those of the next payload.
    @Test("A chunk in a damaged page is not replaced, and no other payload loses its pages")
    func replaced() throws {
        let store = try folder.open()
        let blob = try fill(store)
        let payload = Self.bytes("n2", chunkCount: 3)
        try damage(payload, chunk: 1, .pageCount, bit: 6)
        let error = try failure {
            try store.pipeline.change(isPublishing: false) { (change) throws(StoreError) in
                try change.transaction.putChunk(
                    of: blob, at: 1, payload, in: store.core.tables.chunks)
            }
        }
        #expect(error.isCorrupt, "\(error)")
        for id in Self.ids { #expect(try store.lookUp(id) == .found) }
        for number in 0..<8 { try store.put("more-\(number)", Self.bytes("m", chunkCount: 3)) }
        for id in Self.ids {
            #expect(
                try store.ownedPayload(for: id, asOf: noon) == Self.bytes(id, chunkCount: 3))
        }
    }
}
