import Glibc
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Free pages inside of `data.mdb` go back to the file system while the store is open.
@Suite struct ReclaimTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static func allocated(_ folder: TemporaryFolder) -> Int {
        var status = stat()
        return stat(folder.path + "/data.mdb", &status) == 0 ? Int(status.st_blocks) * 512 : 0
    }

    private func reclaimAll(_ store: BlobStore) throws {
        while try store.reclaimFreePages(microsecondsMax: 2_000).more {}
    }

    /// Bytes that are not compressed: one random stretch, with the number in front.
    private func bytes(_ index: Int, _ count: Int) -> [UInt8] {
        var bytes = Array(Self.random.prefix(count))
        for offset in 0..<8 { bytes[offset] = UInt8(truncatingIfNeeded: index >> (8 * offset)) }
        return bytes
    }

    private static let random: [UInt8] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<8_192).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
    }()

    /// Stores payloads of these numbers, many with one commit.
    private func put(_ store: BlobStore, _ numbers: [Int], _ byteCount: Int, seconds: Int64) throws
    {
        for start in stride(from: 0, to: numbers.count, by: 64) {
            let changes = try numbers[start..<min(start + 64, numbers.count)].map { number in
                Change.publish(
                    try store.publication(
                        "\(number)", bytes(number, byteCount),
                        expiry: .at(noon.adding(seconds: seconds))))
            }
            for outcome in try store.apply(changes, asOf: noon) {
                if case .refused(let error) = outcome { throw error }
            }
        }
    }

    @Test(
        "What a mass expiry frees is given back, and what is left is whole",
        arguments: [30_000, 4_000])
    func massExpiry(byteCount: Int) throws {
        let numbers = Array(0..<(32 << 20) / byteCount)
        let lasting = numbers.filter { $0 % 10 == 0 }
        let others = numbers.filter { $0 % 10 != 0 }
        try put(store, others, byteCount, seconds: 60)
        try put(store, lasting, byteCount, seconds: 600)
        let full = Self.allocated(folder)
        let later = noon.adding(seconds: 61)
        while try store.sweepExpired(asOf: later, limit: 1_000).more {}
        while try store.freeOrphans(byteCountMax: 8 << 20).more {}
        let kept = Self.allocated(folder)
        #expect(kept > full / 2, "nothing has been given back yet")
        let none = try store.reclaimFreePages(microsecondsMax: 2_000, keeping: full)
        #expect(none.byteCount == 0 && !none.more && Self.allocated(folder) == kept)
        #expect(store.publishedByteCount == (numbers.count) * byteCount)
        try reclaimAll(store)
        // The pages in use, half of what may stay allocated of the others, and what is after the last one. A page may
        // take a little more of a file system with larger blocks.
        let environment = store.core.environment
        let inUse = try environment.usedByteCount - environment.freeByteCount(store.core.tables)
        let end = try Files.byteCount(folder.path + "/data.mdb") - environment.usedByteCount
        #expect(inUse < full / 5)
        let most = inUse + end + StoreLimits.freeAllocatedByteCountMin / 2
        #expect(Self.allocated(folder) <= most + 64 << 10)
        #expect(store.allocatedByteCount == Self.allocated(folder))
        for index in lasting {
            #expect(try store.ownedPayload(for: "\(index)", asOf: later) == bytes(index, byteCount))
        }
        #expect(try store.verify().problems.isEmpty)
        // It is filled again: the pages are allocated anew, and none is lost.
        try put(store, others, byteCount, seconds: 600)
        #expect(try store.verify().problems.isEmpty)
        for index in numbers {
            #expect(try store.ownedPayload(for: "\(index)", asOf: later) == bytes(index, byteCount))
        }
    }

    @Test("Pages that a snapshot sees are kept, until it ends")
    func snapshots() throws {
        try put(store, Array(0..<400), 60_000, seconds: 60)
        let full = Self.allocated(folder)
        let later = noon.adding(seconds: 61)
        // A plain transaction: its reader's slot is all that protects what it sees.
        let view = try store.core.readers.begin(keeping: store.core)
        let first = view.id
        while try store.sweepExpired(asOf: later, limit: 1_000).more {}
        _ = try store.freeOrphans(byteCountMax: 64 << 20)
        try reclaimAll(store)
        #expect(Self.allocated(folder) > full * 9 / 10)
        #expect(view.id == first)
        _ = consume view
    }

    @Test(
        "On a full disk deletes and expiry go on, where free pages were given back",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
    func fullDisk() throws {
        let disk = try SmallDisk(byteCount: 96 << 20)
        let store = try BlobStore.open(at: disk.path + "/data")
        try put(store, Array(0..<600), 60_000, seconds: 60)
        for index in 0..<400 { _ = try store.delete("\(index)", asOf: noon) }
        while try store.freeOrphans(byteCountMax: 8 << 20).more {}
        let before = store.allocatedByteCount
        try reclaimAll(store)
        #expect(store.allocatedByteCount < before - 8 << 20)
        // Somebody else takes all of the room.
        try disk.fill(leaving: 0)
        var refused = 0
        do {
            try put(store, Array(1_000..<1_400), 60_000, seconds: 60)
        } catch let error as StoreError {
            #expect(error.isFull, "\(error)")
            refused += 1
        }
        #expect(refused == 1)
        for index in 400..<450 { #expect(try store.delete("\(index)", asOf: noon)) }
        while try store.sweepExpired(asOf: noon.adding(seconds: 61), limit: 1_000).more {}
        while try store.freeOrphans(byteCountMax: 8 << 20).more {}
        #expect(try store.verify().problems.isEmpty)
        disk.empty()
        try store.put("again", bytes(7, 60_000), seconds: 120)
        #expect(try store.ownedPayload(for: "again", asOf: noon) == bytes(7, 60_000))
    }

    /// What a trim had given back once still counted as allocated: the next change found no room at the
    /// end of a full disk in the middle of its commit.
    @Test("What was given back to the disk is allocated again before it is written to")
    func trimmed() throws {
        let growth = 12 << 20
        try store.pipeline.space.prepare(growth: 2 * growth)
        let grown = store.pipeline.space.fileByteCount
        // Room for what was asked for lately is kept.
        for _ in 0..<3 { store.pipeline.space.trim(keeping: 0) }
        #expect(store.pipeline.space.fileByteCount < grown - growth)
        try store.pipeline.space.prepare(growth: growth)
        let needed = store.core.environment.usedByteCount + growth + StoreLimits.reserveByteCount
        #expect(store.pipeline.space.fileByteCount >= needed)
    }
}
