import BlobStore
import TestSupport
import Testing

@Suite struct FreeingTests {
    /// Under 4,700 replacements a second the daemon freed 1,024 orphans a second: a step that
    /// stopped at its own limit said that there was nothing more to do, and the next one came a
    /// second later.
    @Test("A step that stops at its limit says that there is more")
    func manyOrphans() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
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
        let folder = TemporaryFolder()
        let store = try folder.open()
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
