import LMDB
import TestSupport
import Testing

@testable import BlobStore

@Suite struct BatchTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("A batch beyond the limits of a transaction is split")
    func split() throws {
        let before = try Self.transaction(store)
        // Ten different payloads of 10 MB do not fit 64 MiB together.
        let changes = try (0..<10).map { index in
            Change.publish(
                try store.publication("\(index)", [UInt8](repeating: UInt8(index), count: 10 << 20))
            )
        }
        #expect(try store.apply(changes, asOf: noon).allSatisfy { $0.isDone })
        #expect(try Self.transaction(store) - before == 2)
        #expect(try store.verify().problems == [])
    }

    @Test("Nothing to do costs no transaction")
    func nothing() throws {
        let before = try Self.transaction(store)
        #expect(try store.apply([], asOf: noon).isEmpty)
        _ = try store.sweepExpired(asOf: noon, limit: 10)
        _ = try store.freeOrphans(byteCountMax: 10)
        #expect(try Self.transaction(store) == before)
    }

    /// A batch asked for the room of its image once for each notification.
    @Test("A batch that shares one image asks for its room once")
    func sharedImage() throws {
        let folder = TemporaryFolder()
        // Room for the image and its records, not for two images.
        let store = try folder.open { $0.mapByteCountMax = 24 << 20 }
        let payload = try store.prepare([UInt8](repeating: 1, count: 12 << 20))
        let before = try Self.transaction(store)
        let outcomes = try store.apply(
            (0..<100).map {
                .publish(Publication(id: "\($0)", payload: payload, expiry: .at(.max9999)))
            }, asOf: noon)
        #expect(outcomes.allSatisfy { $0.isDone })
        #expect(try Self.transaction(store) - before == 1)
    }

    /// The number of the last commit.
    private static func transaction(_ store: BlobStore) throws -> UInt64 {
        try store.withSnapshot { (snapshot) throws(StoreError) in snapshot.transaction.id }
    }
}
