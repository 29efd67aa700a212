import BlobStore
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
}
