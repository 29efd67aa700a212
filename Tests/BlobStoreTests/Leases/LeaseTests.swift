import Bytes
import TestSupport
import Testing

@testable import BlobStore

@Suite struct LeaseTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static let bytes = [UInt8](repeating: 5, count: 200_000)

    @Test("A blob under a lease is not freed, and can be read by its reference meanwhile")
    func lease() throws {
        let blob = try store.put("a", Self.bytes).parts[0].blob
        do {
            let first = try lease(blob, store)
            let second = try lease(blob, store)
            try store.delete("a", asOf: noon)
            #expect(try store.freeOrphans(byteCountMax: 1 << 20) == FreeResult())
            #expect(try store.statistics().leases == 2)
            #expect(try storedByteCount(blob, store) == Self.bytes.count)
            end(first)
            #expect(try store.freeOrphans(byteCountMax: 1 << 20) == FreeResult())
            end(second)
        }
        let freed = try store.freeOrphans(byteCountMax: 1 << 20)
        #expect(freed.blobs == 1)
        #expect(freed.bytes == Self.bytes.count)
        #expect(try store.statistics().leases == 0)
    }

    /// The second one was once not counted: its pages were used again while it was still in the queue.
    @Test("A blob that is sent twice on a connection is kept until the second one is read")
    func twice() throws {
        let blob = try store.put("a", Self.bytes).parts[0].blob
        var queue = LeaseQueue(of: store)
        queue.take(blob, until: 100)
        queue.take(blob, until: 250)
        try store.delete("a", asOf: noon)
        var freed = FreeResult()
        for position in [0, 100, 249] {
            queue.release(upTo: position)
            freed = try store.freeOrphans(byteCountMax: 1 << 20)
            let count = queue.count
            #expect(count == 1 && freed == FreeResult(), "read up to \(position)")
        }
        queue.release(upTo: 250)
        freed = try store.freeOrphans(byteCountMax: 1 << 20)
        let isEmpty = queue.isEmpty
        #expect(isEmpty && freed.blobs == 1)
    }

    @Test("A blob whose lease ended after leases were kept is freed only when opened again")
    func keptLeases() throws {
        let folder = TemporaryFolder()
        do {
            let store = try folder.open()
            let blob = try store.put("a", Self.bytes).parts[0].blob
            let lease = try lease(blob, store)
            store.keepLeases()
            end(lease)
            try store.delete("a", asOf: noon)
            #expect(try store.freeOrphans(byteCountMax: 1 << 20) == FreeResult())
        }
        #expect(try folder.open().freeOrphans(byteCountMax: 1 << 20).blobs == 1)
    }

    @Test("A blob is not freed while a snapshot is open that can still find it")
    func olderSnapshot() throws {
        let blob = try store.put("a", Self.bytes).parts[0].blob
        do {
            let old = try store.makeSnapshot()
            try store.delete("a", asOf: noon)
            #expect(try store.freeOrphans(byteCountMax: 1 << 20) == FreeResult())
            // A holder of that snapshot may take a lease now, and end it.
            let lease = old.lease(blob)
            end(old)
            #expect(try store.freeOrphans(byteCountMax: 1 << 20) == FreeResult())
            #expect(try storedByteCount(blob, store) == Self.bytes.count)
            end(lease)
        }
        #expect(try store.freeOrphans(byteCountMax: 1 << 20).blobs == 1)
    }

    /// Where a delete is while orphans are freed.
    enum Place: CaseIterable {
        case inDataFile, inLog
        /// Over what is committed and not noted as that yet.
        case overFrozen
    }

    /// A blob that has the number of the transaction before would be freed while somebody can still find it.
    @Test(
        "Who began to read before a delete reads the payload, though space is used again meanwhile",
        arguments: Place.allCases)
    func reused(place: Place) throws {
        let folder = TemporaryFolder()
        let store = try place == .inDataFile ? folder.open() : folder.openLogging()
        let payload = SeededGenerator.bytes(Self.bytes.count, seed: 1)
        let blob = try store.put("a", payload).parts[0].blob
        try store.commitPending()
        if place == .overFrozen {
            try store.put("b", [1])
            try store.beginCheckpoint()
            let frozen = try #require(store.pipeline.uncommitted.frozen)
            try store.pipeline.write(frozen.memtable, frozen.state, growth: frozen.growth.total)
            frozen.result = .success(())
        }
        let old = try store.makeSnapshot()
        try store.delete("a", asOf: noon)
        try store.freeAll()
        try store.commitPending()
        try store.freeAll()
        let lease = old.lease(blob)
        end(old)
        for number in UInt64(2)..<8 {
            try store.put("c", SeededGenerator.bytes(Self.bytes.count, seed: number))
            try store.commitPending()
            try store.freeAll()
        }
        #expect(try storedBytes(blob, store) == payload)
        end(lease)
        try store.freeAll()
        #expect(try store.lookUp("c") == .found)
        #expect(try store.verify().problems == [])
    }

    @Test("A snapshot that is younger than the orphan does not keep it")
    func youngerSnapshot() throws {
        try store.put("a", Self.bytes)
        try store.delete("a", asOf: noon)
        let young = try store.makeSnapshot()
        #expect(try store.freeOrphans(byteCountMax: 1 << 20).blobs == 1)
        #expect(try young.records(after: RawSpan(), limit: 1, asOf: noon).records == [])
    }

    @Test("An orphan that is held does not keep others from being freed")
    func heldBetween() throws {
        var blobs: [BlobReference] = []
        for index in 0..<5 {
            blobs.append(try store.put("\(index)", Self.bytes + [UInt8(index)]).parts[0].blob)
        }
        let held = try lease(blobs[0], store)
        for index in 0..<5 { try store.delete("\(index)", asOf: noon) }
        let freed = try store.freeOrphans(byteCountMax: 64 << 20)
        #expect(freed.blobs == 4)
        #expect(!freed.more)
        end(held)
        #expect(try store.verify().problems == [])
    }

    @Test("A step of freeing is bounded, and goes on where it stopped")
    func bounded() throws {
        let size = 10 * StoreLimits.chunkByteCountMax
        try store.put("large", [UInt8](repeating: 1, count: size))
        try store.delete("large", asOf: noon)
        var steps = 0
        var bytes = 0
        var result = FreeResult(blobs: 0, bytes: 0, more: true)
        while result.more {
            result = try store.freeOrphans(byteCountMax: 4 * StoreLimits.chunkByteCountMax)
            #expect(result.bytes <= 4 * StoreLimits.chunkByteCountMax)
            bytes += result.bytes
            steps += 1
            // Half of an orphan is still a sound store.
            #expect(try store.verify().problems == [])
        }
        #expect(steps == 3)
        #expect(bytes == size)
        // At least one chunk a step, whatever is asked for.
        try store.put("next", [UInt8](repeating: 2, count: size))
        try store.delete("next", asOf: noon)
        let least = try store.freeOrphans(byteCountMax: 0)
        #expect(least.bytes == StoreLimits.chunkByteCountMax)
        #expect(least.more)
    }

    private func lease(_ blob: BlobReference, _ store: BlobStore) throws -> Lease {
        let snapshot = try store.makeSnapshot()
        return snapshot.lease(blob)
    }

    private func storedByteCount(_ blob: BlobReference, _ store: BlobStore) throws -> Int {
        try storedBytes(blob, store).count
    }

    private func storedBytes(_ blob: BlobReference, _ store: BlobStore) throws -> [UInt8] {
        let snapshot = try store.makeSnapshot()
        var bytes: [UInt8] = []
        while bytes.count < blob.storedByteCount {
            bytes += try snapshot.storedBytes(of: blob, from: bytes.count).array()
        }
        return bytes
    }

    private func end(_ lease: consuming Lease) {}
    private func end(_ snapshot: consuming Snapshot) {}
}
