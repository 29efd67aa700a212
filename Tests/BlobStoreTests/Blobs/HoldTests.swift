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
