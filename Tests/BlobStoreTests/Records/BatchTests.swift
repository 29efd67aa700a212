import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Batches of changes, lists, times and quotas, as far as neither the model nor `Tests/Exchanges` has them.
@Suite struct BatchTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("What no key can be is nowhere")
    func longID() throws {
        let long = String(repeating: "x", count: 600)
        let page = try store.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.records(after: long.utf8.span.bytes, limit: 10, asOf: noon)
        }
        #expect(page.records == [])
        #expect(try store.patch(long) { $0.isRead = .set(true) }.isNotFound)
    }

    /// Swift holds é as one scalar and é as two for the same text.
    @Test("Owners, groups and ids that look alike and have other bytes are others")
    func equivalentTexts() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        try store.publish("a", owner: composed, group: composed)
        let record = try store.publish("a", owner: decomposed, group: composed)
        let index = store.core.tables.index
        // Tombstone, finder and end of the one; place, group, expiry and usage of the other.
        #expect(try store.entries(of: index).count == 7)
        let patched = try store.patch("a") { $0.group = .set(decomposed) }
        #expect(!patched.isUnchanged)
        #expect(try store.entries(of: index).count == 8)
        #expect(record.sequence == 2)
        #expect(try store.verify().problems == [])
    }

    @Test("A time to live is counted from the moment of the change")
    func after() throws {
        let later = noon.adding(seconds: 10)
        func publish(_ expiry: Expiry) throws -> Record {
            try store.publish(store.publication("a", [1], expiry: expiry), asOf: later)
        }
        let record = try publish(.after(seconds: 60))
        #expect(record.expiresAt.milliseconds - record.createdAt.milliseconds == 60_000)
        for seconds in [Int64.min, -1, 0, .max] {
            for expiry in [Expiry.after(seconds: seconds), .keepOrAfter(seconds: seconds)] {
                let error = try failure { _ = try publish(expiry) }
                #expect(error.field == .expiry, "\(expiry)")
            }
        }
    }

    @Test("A batch beyond the limits of a transaction is split")
    func split() throws {
        let before = try store.lastTransaction()
        // Ten different payloads of 10 MB do not fit 64 MiB together.
        let changes = try (0..<10).map { index in
            Change.publish(
                try store.publication("\(index)", [UInt8](repeating: UInt8(index), count: 10 << 20))
            )
        }
        #expect(try store.apply(changes, asOf: noon).allSatisfy { $0.isDone })
        #expect(try store.lastTransaction() - before == 2)
        #expect(try store.verify().problems == [])
    }

    @Test("Nothing to do costs no transaction")
    func nothing() throws {
        try store.publish("a", owner: "anna")
        let before = try store.lastTransaction()
        #expect(try store.apply([], asOf: noon).isEmpty)
        #expect(try store.patch("a") { $0.message = .set("Hello") }.isUnchanged)
        _ = try store.sweepExpired(asOf: noon, limit: 10)
        _ = try store.freeOrphans(byteCountMax: 10)
        #expect(try store.lastTransaction() == before)
    }

    /// A batch asked for the room of its image once for each notification.
    @Test("A batch that shares one image asks for its room once")
    func sharedImage() throws {
        let folder = TemporaryFolder()
        // Room for the image and its records, not for two images.
        let store = try folder.open { $0.mapByteCountMax = 24 << 20 }
        let payload = try store.prepare([UInt8](repeating: 1, count: 12 << 20))
        let before = try store.lastTransaction()
        let outcomes = try store.apply(
            (0..<100).map {
                .publish(Publication(id: "\($0)", payload: payload, expiry: .at(.max9999)))
            }, asOf: noon)
        #expect(outcomes.allSatisfy { $0.isDone })
        #expect(try store.lastTransaction() - before == 1)
    }

    @Test("Blobs that are kept count for the store, and one that is written ahead is not begun")
    func holds() throws {
        var quotas = Quotas()
        quotas.byteCountMax = 1_000
        store.setQuotas(quotas)
        let kept = try store.prepare(SeededGenerator.bytes(1_000))
        let more = try store.prepare([2])
        let outcomes = try store.apply(
            [
                .hold(BlobHold(kept, seconds: 60)), .hold(BlobHold(more, seconds: 60)),
                .hold(BlobHold(kept, seconds: 90)),
            ], asOf: noon)
        #expect(outcomes.map(\.isDone) == [true, false, true])
        let orphans = try store.pipeline.counters().orphanBlobs
        let large = try store.publication("a", SeededGenerator.bytes(20_000_000))
        for change in [.publish(large), Change.hold(BlobHold(large.payload, seconds: 9))] {
            #expect(try store.apply(change).error?.isQuota == true)
        }
        #expect(try store.pipeline.counters().orphanBlobs == orphans)
    }
}
