import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// A damaged record at the head of the expiry table once made every sweep fail, so that nothing that
/// expired after it gave its space back. The same held for a damaged orphan.
@Suite struct DamagedExpiryTests {
    private static let later = noon.adding(seconds: 100)

    @Test("A sweep steps over a damaged record, and a second one writes nothing for it")
    func record() throws {
        let folder = TemporaryFolder()
        do {
            let store = try folder.open()
            _ = try store.apply(
                try ["a", "b", "c"].map { (id: String) in
                    .publish(
                        Publication(
                            id: id, payload: try store.prepare(Array("bytes of \(id)".utf8)),
                            message: "message-of-\(id)", expiry: .at(noon.adding(seconds: 1))))
                }, asOf: noon)
        }
        let path = folder.path + "/data.mdb"
        let data = try Files.read(path)
        let start = try #require(data.firstRange(of: Array("message-of-a".utf8))).lowerBound
        try Files.overwrite([data[start] ^ 1], at: start, in: path)

        let store = try folder.open()
        let first = try store.sweepExpired(asOf: Self.later, limit: 10)
        #expect(first == SweepResult(expired: 2, more: false, damaged: 1))
        let revision = try store.statistics().revision
        let second = try store.sweepExpired(asOf: Self.later, limit: 10)
        #expect(second == SweepResult(expired: 0, more: false, damaged: 1))
        let after = try store.statistics()
        #expect(after.revision == revision)
        #expect(after.notifications == 1)
        #expect(try !store.verify().isClean)
    }

    @Test("A sweep steps over what else ends and is damaged, and does the rest")
    func others() throws {
        let folder = TemporaryFolder()
        let store = try folder.open { $0.tombstoneRetentionMilliseconds = 1_000 }
        // Two of a kind each, and the first of them is damaged.
        var rubbish: [(key: [UInt8], table: Table)] = []
        for id in ["a", "b", "c"] {
            try store.publish(id, owner: "anna")
            _ = try store.apply(.delete(id: id))
        }
        rubbish.append((IndexKeys.sequence("anna", 2), store.core.tables.index))
        rubbish.append((IndexKeys.finder("anna", id: "b"), store.core.tables.index))
        for byte in [UInt8(1), 2] {
            let payload = try store.prepare([byte])
            _ = try store.apply(.hold(BlobHold(payload, until: noon.adding(seconds: 1))))
            var key: [UInt8] = []
            payload.digest.append(to: &key)
            if byte == 1 { rubbish.append((key, store.core.tables.blobs)) }
        }
        for owner in ["ben", "carl"] {
            try store.publish(owner, owner: owner)
            try store.deleteOwner(owner, asOf: noon)
        }
        rubbish.append((IndexKeys.mark("ben"), store.core.tables.index))
        var transaction = try store.core.environment.beginWrite()
        for (key, table) in rubbish {
            try transaction.put([7, 7, 7].span.bytes, forKey: key.span.bytes, in: table)
        }
        try transaction.commit()

        let first = try store.sweepExpired(asOf: Self.later, limit: 10)
        #expect(first == SweepResult(forgotten: 2, holdsEnded: 1, damaged: 4))
        let before = try store.lastTransaction()
        #expect(try store.sweepExpired(asOf: Self.later, limit: 10) == SweepResult(damaged: 4))
        #expect(try store.lastTransaction() == before)
        #expect(try !store.verify().isClean)
    }

    @Test("Freeing steps over a damaged orphan")
    func orphan() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let first = try store.put("a", Array("first".utf8))
        try store.put("b", Array("second".utf8))
        try store.delete("a", asOf: noon)
        try store.delete("b", asOf: noon)
        var transaction = try store.core.environment.beginWrite()
        let key = Keys.state(first.parts[0].blob.number, .toBeFreed)
        let rubbish = [UInt8](repeating: 7, count: 10)
        try transaction.put(
            rubbish.span.bytes, forKey: key.span.bytes, in: store.core.tables.orphans)
        try transaction.commit()
        #expect(try store.freeOrphans(byteCountMax: 1 << 20).blobs == 1)
        #expect(try store.statistics().orphanBlobs == 1)
    }
}
