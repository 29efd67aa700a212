import TestSupport
import Testing

@testable import BlobStore

/// Blobs that are kept for a while without a reference.
@Suite struct HoldTests {
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

    @Test("A held blob is found, and gone after its hold")
    func life() throws {
        let (held, isNew) = try hold(store, [1, 2, 3], seconds: 10)
        #expect(isNew)
        #expect(held.until == noon.adding(seconds: 10))
        #expect(held.blob.byteCount == 3)
        #expect(try store.ownedPayload(digest: held.blob.digest, asOf: noon) == [1, 2, 3])
        let counters = try store.counters()
        #expect(counters.heldBlobs == 1)
        #expect(counters.blobs == 1)
        #expect(counters.bytesReferenced == 0)
        #expect(counters.revision == 0)
        #expect(try store.verify().problems == [])

        let end = noon.adding(seconds: 10)
        #expect(try store.lookUp(held.blob.digest, asOf: end) == .expired)
        #expect(try store.sweepExpired(asOf: end, limit: 10) == SweepResult(holdsEnded: 1))
        let after = try store.counters()
        #expect(after.heldBlobs == 0)
        #expect(after.blobs == 0)
        #expect(after.bytes == 0)
        #expect(after.orphanBlobs == 1)
        #expect(try store.lookUp(held.blob.digest, asOf: noon) == .missing)
        #expect(try store.verify().problems == [])
        try store.freeAll()
        #expect(try store.indexCount() == 0)
    }

    @Test("The later end counts, whichever came first; an earlier one writes nothing")
    func twice() throws {
        let (first, _) = try hold(store, [1], seconds: 10)
        for (seconds, until) in [(5, 10), (10, 10), (20, 20)] as [(Int64, Int64)] {
            let (held, isNew) = try hold(store, [1], seconds: seconds)
            #expect(!isNew)
            #expect(held.until == noon.adding(seconds: until))
            #expect(held.blob == first.blob)
            let times = try store.timeEntries()
            #expect(times == [.hold(noon.adding(seconds: until), held.blob.digest)])
        }
        #expect(try store.counters().heldBlobs == 1)
        #expect(try store.sweepExpired(asOf: noon.adding(seconds: 19), limit: 10) == SweepResult())
    }

    @Test("It outlives its last reference, and a reference outlives it")
    func references() throws {
        let (held, _) = try hold(store, [1], seconds: 100)
        let part = DraftPart(
            name: "payload", mediaType: "image/png", content: .stored(held.blob.digest))
        try store.publish("a", owner: nil) { $0.parts = [part] }
        _ = try store.apply(.delete(id: "a"))
        #expect(try store.lookUp(held.blob.digest) == .found)
        #expect(try store.verify().problems == [])
        try store.publish("a", owner: nil) { $0.parts = [part] }
        let later = noon.adding(seconds: 100)
        #expect(try store.sweepExpired(asOf: later, limit: 10).holdsEnded == 1)
        #expect(try store.ownedPayload(for: "a", asOf: later) == [1])
        #expect(try store.verify().problems == [])
        _ = try store.apply(.delete(id: "a"))
        let counters = try store.counters()
        #expect(counters.blobs == 0)
        #expect(counters.orphanBlobs == 1)
    }

    @Test("A blob that is stored already is held as it is")
    func stored() throws {
        let record = try store.put("a", [1, 2])
        let (held, isNew) = try hold(store, [1, 2], seconds: 10)
        #expect(!isNew)
        #expect(held.blob == record.parts[0].blob)
        _ = try store.apply(.delete(id: "a"))
        #expect(try store.lookUp(held.blob.digest) == .found)
    }

    @Test("Other bytes than those of the digest are refused, and so is the past")
    func refused() throws {
        let payload = try store.prepare([1])
        let other = try store.prepare([2]).digest
        let before = try store.counters()
        let wrong = BlobHold(payload, until: noon.adding(seconds: 1), expected: other)
        let error = try store.apply(.hold(wrong)).error
        #expect(error == .digestMismatch(expected: other, actual: payload.digest))
        for end in [noon, Timestamp(milliseconds: .max)] {
            #expect(try store.apply(.hold(BlobHold(payload, until: end))).field == .expiry)
        }
        #expect(try store.counters() == before)
    }

    @Test("A large one is written ahead")
    func large() throws {
        let bytes = [UInt8](repeating: 7, count: 20_000_000)
        let (held, isNew) = try hold(store, bytes, seconds: 10)
        #expect(isNew)
        let counters = try store.counters()
        #expect(counters.orphanBlobs == 0)
        #expect(counters.bytesStored == 20_000_000)
        #expect(try store.ownedPayload(digest: held.blob.digest, asOf: noon) == bytes)
    }
}
