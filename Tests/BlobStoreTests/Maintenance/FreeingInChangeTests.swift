import BlobStore
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// Freeing in the transaction of other changes.
@Suite struct FreeingInChangeTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    /// A blob that is worth freeing beside changes, alone.
    static let byteCount = StoreLimits.freedWithChangesByteCountMin

    @Test("A publish frees what earlier ones replaced, and not what it replaces itself")
    func replaced() throws {
        for round in 0..<5 {
            let payload = try store.publication(
                "a", [UInt8](repeating: UInt8(round), count: Self.byteCount))
            _ = try store.apply([.publish(payload)], asOf: noon, freeing: 1 << 20)
            // A view from before the commit finds the replaced one.
            #expect(try store.counters().orphanBlobs == (round == 0 ? 0 : 1))
        }
        #expect(try store.verify().problems == [])
    }

    @Test("A few bytes are not worth it, and wait for the others")
    func few() throws {
        for round in 0..<5 {
            let payload = try store.publication("a", [UInt8(round)])
            _ = try store.apply([.publish(payload)], asOf: noon, freeing: 1 << 20)
        }
        try expectOrphans(4, store)
        try store.freeAll()
        try expectOrphans(0, store)
    }

    @Test("What is held is not freed by a publish, and does not hold up the rest")
    func held() throws {
        let blob = try store.put("held", [UInt8](repeating: 1, count: Self.byteCount)).parts[0].blob
        try store.put("other", [UInt8](repeating: 2, count: Self.byteCount))
        func lease() throws -> Lease { try store.makeSnapshot().lease(blob) }
        let lease1 = try lease()
        _ = try store.apply([.delete(id: "held"), .delete(id: "other")], asOf: noon)
        for round in 0..<3 {
            let payload = try store.publication(
                "\(round)", [UInt8](repeating: UInt8(10 + round), count: Self.byteCount))
            _ = try store.apply([.publish(payload)], asOf: noon, freeing: 1 << 20)
        }
        try expectOrphans(1, store)
        _ = consume lease1
        let view = try store.makeSnapshot()
        _ = try store.apply([.delete(id: "0")], asOf: noon, freeing: 1 << 20)
        _ = try store.apply([.delete(id: "1")], asOf: noon, freeing: 1 << 20)
        // The one that is held no longer is gone; the other two can still be found in the view.
        try expectOrphans(2, store)
        _ = consume view
        _ = try store.apply([.delete(id: "2")], asOf: noon, freeing: 1 << 20)
        try expectOrphans(1, store)
        #expect(try store.verify().problems == [])
    }

    @Test("Orphans that all wait for a commit are not looked at again before it, and then freed")
    func waiting() throws {
        let count = 700
        func publishAll(_ filling: UInt8) throws {
            for start in stride(from: 0, to: count, by: 100) {
                let changes = try (start..<start + 100).map { index in
                    var bytes = [UInt8](repeating: filling, count: 1_024)
                    bytes[0] = UInt8(index & 255)
                    bytes[1] = UInt8(index >> 8)
                    return Change.publish(try store.publication("\(index)", bytes))
                }
                _ = try store.apply(changes, asOf: noon, freeing: 8 << 20)
            }
        }
        try publishAll(1)
        try store.beginLogging()
        defer { try? store.endLogging() }
        try publishAll(2)
        #expect(store.pipeline.uncommitted.isPending)
        // Until all of them were seen, each change looks at some.
        let moreCount = 4
        for index in 0..<moreCount {
            _ = try store.apply(
                [.publish(try store.publication("more", [UInt8(index)]))], asOf: noon,
                freeing: 8 << 20)
        }
        #expect(store.pipeline.uncommitted.isPending)
        #expect(store.pipeline.freeing.withLock { $0.waiting } > 0)
        try store.commitPending()
        // A reader may have seen each "more" in memory.
        let orphanCount = count + moreCount - 1
        try expectOrphans(UInt64(orphanCount), store)
        _ = try store.apply(
            [.publish(try store.publication("last", [9]))], asOf: noon, freeing: 8 << 20)
        try store.commitPending()
        // As many as are looked at beside one change.
        try expectOrphans(UInt64(orphanCount - StoreLimits.freedWithChangesCountMax), store)
        #expect(try store.verify().problems == [])
    }

    @Test("No more is freed beside changes than they were told, and the rest later")
    func bounded() throws {
        let size = 10 * StoreLimits.chunkByteCountMax
        try store.put("large", [UInt8](repeating: 1, count: size))
        for index in 0..<200 {
            try store.put("\(index)", [UInt8](repeating: 2, count: 5_000 + index))
        }
        _ = try store.apply(
            [.delete(id: "large")] + (0..<200).map { .delete(id: "\($0)") }, asOf: noon)
        var rounds = 0
        while rounds < 100 {
            let before = try store.counters()
            guard before.orphanBytes >= UInt64(Self.byteCount) else { break }
            let change = Change.publish(try store.publication("x\(rounds)", []))
            _ = try store.apply(
                [change], asOf: noon, freeing: 3 * StoreLimits.chunkByteCountMax)
            let after = try store.counters()
            let blobCountMax = UInt64(3 * StoreLimits.chunkByteCountMax / 5_000)
            #expect(before.orphanBlobs - after.orphanBlobs <= blobCountMax)
            rounds += 1
            #expect(try store.verify().problems == [])
        }
        #expect(rounds > 3)
        #expect(rounds < 20)
    }

    @Test("The file of a small store that is replaced again and again stays small")
    func fileSize() throws {
        let seed: UInt64 = testSeed(31)
        var generator = SeededGenerator(seed: seed)
        for round in 0..<120 {
            let changes = try (0..<8).map { index in
                let count = Int.random(in: 20_000...200_000, using: &generator)
                var bytes = [UInt8](repeating: UInt8(index), count: count)
                withUnsafeBytes(of: generator.next()) { bytes.replaceSubrange(0..<8, with: $0) }
                return Change.publish(
                    try store.publication("\(Int.random(in: 0..<130, using: &generator))", bytes))
            }
            _ = try store.apply(changes, asOf: noon, freeing: 8 << 20)
            if round % 10 == 9 { try store.trimFile() }
        }
        try store.trimFile()
        try store.trimFile()
        let live = try Double(store.counters().bytesStored)
        let file = try Double(Files.byteCount(folder.path + "/data.mdb"))
        // Whatever the store's size: some batches whose pages cannot be used again yet, and the
        // reserve. From about 32 MiB on that is within one and a half of the live bytes.
        #expect(file <= live * 1.25 + Double(8 << 20), "seed \(seed): \(file / live)")
        #expect(try store.verify().problems == [])
    }

    private func expectOrphans(
        _ count: UInt64, _ store: BlobStore, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try store.counters().orphanBlobs == count, sourceLocation: sourceLocation)
    }

    /// Under 4,700 replacements a second the daemon freed 1,024 orphans a second: a step that
    /// stopped at its own limit said that there was nothing more to do, and the next one came a
    /// second later.
    @Test("A step that stops at its limit says that there is more")
    func manyOrphans() throws {
        var changes: [Change] = []
        for index in 0..<2_100 {
            let payload = try store.prepare(Array("payload \(index)".utf8))
            changes.append(
                .publish(
                    Publication(
                        id: "\(index)", payload: payload, expiry: .at(noon.adding(seconds: 60)))))
        }
        _ = try store.apply(changes, asOf: noon)
        while try store.sweepExpired(asOf: noon.adding(seconds: 60), limit: 500).more {}
        let first = try store.freeOrphans(byteCountMax: 1 << 30)
        #expect(first.blobs == 2_048)
        #expect(first.more)
        let second = try store.freeOrphans(byteCountMax: 1 << 30)
        #expect(second.blobs == 52)
        #expect(!second.more)
        let statistics = try store.statistics()
        #expect(statistics.orphanBlobs == 0)
        #expect(statistics.orphanBytes == 0)
    }

    @Test(
        "What one transaction stores and drops is gone with it; what was there before is an orphan")
    func dropped() throws {
        func change(_ id: String, _ bytes: [UInt8]) throws -> Change {
            let payload = try store.prepare(bytes)
            return .publish(
                Publication(id: id, payload: payload, expiry: .at(noon.adding(seconds: 60))))
        }
        let long = [UInt8](repeating: 7, count: 5 * StoreLimits.chunkByteCountMax)
        _ = try store.apply([try change("old", [0])], asOf: noon)
        let outcomes = try store.apply(
            [
                change("a", [1]), change("b", [2]), change("a", [3]), change("b", [1]),
                change("a", []), change("old", [4]), change("old", [5]), change("c", long),
                change("c", [6]),
            ], asOf: noon)
        #expect(outcomes.count == 9)
        let statistics = try store.statistics()
        // The blob that was there, and the long one, which is freed in steps.
        #expect(statistics.orphanBlobs == 2)
        #expect(statistics.orphanBytes == UInt64(1 + long.count))
        #expect(statistics.blobs == 4)
        for (id, bytes) in [("a", []), ("b", [1]), ("old", [5]), ("c", [6])] as [(String, [UInt8])]
        {
            #expect(try store.ownedPayload(for: id, asOf: noon) == bytes, "\(id)")
        }
        var report = try store.verify()
        #expect(report.problems == [])
        #expect(try store.freeOrphans(byteCountMax: 1 << 30).blobs == 2)
        report = try store.verify()
        #expect(report.problems == [])
    }
}
