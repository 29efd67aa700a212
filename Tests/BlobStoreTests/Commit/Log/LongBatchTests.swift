import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Batches whose long values are written to their pages, and of which the log has the places.
@Suite struct LongBatchTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.openLogging() }

    private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number &* 7 &+ $0 >> 8) }
    }

    /// Publishes so many payloads of so many bytes each, in one batch.
    private func publish(_ ids: [String], _ number: Int, _ byteCount: Int) throws {
        let changes = try ids.enumerated().map { index, id in
            Change.publish(
                try store.publication(id, Self.bytes(number + index, byteCount + index)))
        }
        let outcomes = try store.apply(changes, asOf: noon)
        #expect(outcomes.allSatisfy { $0.isDone })
    }

    private static func ids(_ prefix: String, _ count: Int) -> [String] {
        (0..<count).map { "\(prefix)\($0)" }
    }

    private static func expect(
        _ ids: [String], _ number: Int, _ byteCount: Int, in store: BlobStore
    ) throws {
        for (index, id) in ids.enumerated() {
            let found = try store.ownedPayload(for: id, asOf: noon)
            #expect(found == bytes(number + index, byteCount + index), "\(id)")
        }
        #expect(try store.verify().problems == [])
    }

    @Test(
        "A later batch that fails has the log made whole, and all that was acknowledged committed")
    func failed() throws {
        let ids = Self.ids("a", 10)
        try store.put("damaged", [1])
        try store.commitPending()
        try store.damageRecord("damaged")
        for round in 0..<3 {
            try publish(ids, round, 40_000)
            #expect(store.pendingChanges.isPending)
            let changes = try ["x", "damaged"].map {
                Change.publish(try store.publication($0, Self.bytes(round, 200_000)))
            }
            let outcomes = try store.apply(changes, asOf: noon)
            #expect(outcomes.map(\.isDone) == [true, false])
            for (index, id) in ids.enumerated() {
                let found = try store.ownedPayload(for: id, asOf: noon)
                #expect(found == Self.bytes(round + index, 40_000 + index))
            }
        }
        try publish(ids, 9, 40_000)
        let copy = try folder.copy()
        let again = try copy.open()
        for (index, id) in ids.enumerated() {
            let found = try again.ownedPayload(for: id, asOf: noon)
            #expect(found == Self.bytes(9 + index, 40_000 + index))
        }
    }

    @Test("Once the log is whole it needs no page that it referred to")
    func whole() throws {
        let ids = Self.ids("a", 30)
        for round in 0..<3 { try publish(ids, round, 30_000) }
        try store.pipeline.whileWriting(committing: false) { () throws(StoreError) in
            try store.pipeline.inlineOverflowValues()
        }
        let copy = try folder.copy()
        // What a replay that a power cut ended may have written over.
        let used = store.core.environment.usedByteCount
        let data = copy.path("data.mdb")
        let rubbish = [UInt8](repeating: 0xA5, count: try Files.byteCount(data) - used)
        #expect(rubbish.count > 1 << 20)
        try Files.overwrite(rubbish, at: used, in: data)
        try Self.expect(ids, 2, 30_000, in: try copy.open())
        // The process that made it goes on.
        try publish(ids, 5, 30_000)
        try folder.withCopy { try Self.expect(ids, 5, 30_000, in: $0) }
        try store.endLogging()
        try Self.expect(ids, 5, 30_000, in: store)
    }

    @Test("A page that lost its bytes since is named, and the store is not opened without a word")
    func damaged() throws {
        let ids = Self.ids("a", 12)
        try publish(ids, 3, 30_000)
        #expect(store.pendingChanges.byteCount < 40_000, "of payloads it has the places")
        let copy = try folder.copy()
        let place = store.core.environment.usedByteCount + 150_000
        let byte = try Files.read(copy.path("data.mdb"))[place]
        try Files.overwrite([byte ^ 1], at: place, in: copy.path("data.mdb"))
        let refused = #expect(throws: StoreError.self) { try copy.open() }
        let words = "\(refused.map { "\($0)" } ?? "")"
        #expect(words.contains("to which changes.log refers, failed its checksum"), "\(words)")
        #expect(words.contains("acknowledged changes may be missing"), "\(words)")
        let opened = try copy.open { $0.discardsLog = true }
        #expect(try opened.lookUp("a0") == .missing)
    }
}
