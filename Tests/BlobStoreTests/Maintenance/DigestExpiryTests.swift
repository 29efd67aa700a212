import BlobStore
import TestSupport
import Testing

/// The expiry kept with a blob is the latest that any part was given. When the part that had it was
/// deleted, the blob stayed readable by its digest after all others had expired, until the sweeper
/// came.
@Suite struct DigestExpiryTests {
    private let bytes = Array("one picture for all".utf8)

    @Test("By digest, too, nothing is read after the last expiry, swept or not")
    func afterDelete() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let record = try store.put("short", bytes, seconds: 10)
        try store.put("long", bytes, seconds: 3_600)
        try store.delete("long", asOf: noon)
        let digest = record.parts[0].digest
        #expect(try store.ownedPayload(digest: digest, asOf: noon.adding(seconds: 9)) == bytes)
        #expect(try store.ownedPayload(digest: digest, asOf: noon.adding(seconds: 10)) == nil)
    }

    @Test("What another notification still has is read while expired ones wait to be swept")
    func stillReferenced() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        var digest: Digest?
        for index in 0..<20 {
            digest = try store.put("s\(index)", bytes, seconds: 10).parts[0].digest
        }
        try store.put("s0", bytes, part: "again", seconds: 10)
        try store.put("long", bytes, seconds: 3_600)
        let wanted = try #require(digest)
        #expect(try store.ownedPayload(digest: wanted, asOf: noon.adding(seconds: 60)) == bytes)
        try store.delete("long", asOf: noon)
        #expect(try store.ownedPayload(digest: wanted, asOf: noon.adding(seconds: 60)) == nil)
    }
}
