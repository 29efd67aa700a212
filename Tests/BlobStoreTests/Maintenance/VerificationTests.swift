import Bytes
import LMDB
import TestSupport
import Testing

@testable import BlobStore

@Suite struct VerificationTests {
    private let folder = TemporaryFolder()

    /// A store that has every kind of entry in its index.
    private static func indexed(_ folder: TemporaryFolder) throws -> BlobStore {
        let store = try folder.open()
        try store.publish("0", owner: "carl")
        try store.deleteOwner("carl", asOf: noon)
        for id in ["a", "b", "c", "d"] { try store.publish(id, owner: "anna", group: "g") }
        _ = try store.patch("a") { $0.isRead = .set(true) }
        try store.publish("b", owner: "ben")
        _ = try store.apply(.remove(Removal(id: "c", device: "phone")))
        _ = try store.apply(.setCategory(Category(name: "mail", actions: [])))
        let payload = try store.prepare([1, 2, 3])
        _ = try store.apply(.hold(BlobHold(payload, until: noon.adding(seconds: 60))))
        return store
    }

    @Test("An entry of the index that is missing, damaged or too many is found, whatever it is")
    func index() throws {
        let store = try Self.indexed(folder)
        let table = store.core.tables.index
        #expect(try store.verify().problems == [])
        let entries = try store.entries(of: table)
        // Seven times: of three notifications, two tombstones, a hold and a mark. Six places, two of
        // them tombstones with their finders; two members of a group; a mark; a category; what two owners
        // have.
        #expect(entries.count == 21)
        for (key, value) in entries {
            try store.overwrite(key, in: table, with: nil)
            #expect(try !store.verify().isClean, "without \(key)")
            if !value.isEmpty {
                try store.overwrite(key, in: table, with: value.flipping(bit: 0))
                let damaged = try store.verify()
                #expect(!damaged.isClean, "damaged \(key)")
            }
            try store.overwrite(key, in: table, with: value)
            // The same under another key: of another owner, at another revision, at another time.
            for offset in stride(from: 1, to: key.count, by: 4)
            where !entries.contains(where: {
                $0.key == key.flipping(bit: 8 * offset)
            }) {
                let other = key.flipping(bit: 8 * offset)
                try store.overwrite(other, in: table, with: value)
                #expect(try !store.verify().isClean, "\(key) also at \(other)")
                try store.overwrite(other, in: table, with: nil)
            }
        }
        #expect(try store.verify().problems == [])
    }

    /// It has the leader's number, which the counter reaches with the batch: a healthy follower was called damaged.
    @Test("A blob that a follower has staged ahead of its batch is no damage")
    func staged() throws {
        try folder.openReplicated().overwriteState(
            ReplicationState(
                role: .follower, epoch: 1, nonce: .random(), position: .start, sequence: 0))
        let store = try folder.openReplicated()
        let payload = try store.prepare(SeededGenerator.bytes(200_000))
        let blob = BlobReference(payload, number: 1_000)
        try store.stage(blob, SeededGenerator.bytes(200_000))
        #expect(try store.verify().problems == [])
        #expect(try store.counters().orphanBlobs == 1)
    }

    @Test("Entries that are right in themselves and wrong together are found")
    func contradictions() throws {
        let store = try Self.indexed(folder)
        let record = try #require(try store.record(for: "d", asOf: noon))
        let tables = store.core.tables
        let counters = try store.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.counters()
        }
        func expectFound(
            _ table: Table, _ key: [UInt8], _ value: [UInt8], _ name: String
        ) throws {
            let before = try store.entries(of: table).first { $0.key == key }?.value
            try store.overwrite(key, in: table, with: value)
            #expect(try !store.verify().isClean, "\(name)")
            try store.overwrite(key, in: table, with: before)
            #expect(try store.verify().problems == [], "\(name)")
        }
        let place = IndexKeys.sequence("anna", record.revision)
        for places: SequenceEntry.Indexes in [.history, .feed] {
            let entry = SequenceEntry(places, id: "d").bytes(key: place)
            try expectFound(tables.index, place, entry, "places \(places)")
        }
        let wrong = SequenceEntry([.history, .feed], id: "a").bytes(key: place)
        try expectFound(tables.index, place, wrong, "another's id")
        let second = IndexKeys.sequence("anna", record.revision + 100)
        let entry = SequenceEntry(.feed, id: "d").bytes(key: second)
        try expectFound(tables.index, second, entry, "two places in the feed")
        let tombstone = SequenceEntry(.deleted, id: "d", device: nil, end: noon)
        try expectFound(
            tables.index, second, tombstone.bytes(key: second), "a tombstone of what is there")
        let changes: [(String, (inout Counters) -> Void)] = [
            ("tombstones", { $0.tombstones += 1 }), ("held", { $0.heldBlobs -= 1 }),
            ("categories", { $0.categories += 1 }), ("revision", { $0.revision -= 1 }),
            ("horizon", { $0.horizon = $0.revision + 1 }),
            ("next blob number", { $0.nextBlobNumber -= 1 }),
        ]
        for (name, change) in changes {
            var other = counters
            change(&other)
            try expectFound(
                tables.meta, Array(Counters.name.utf8), other.value, name)
        }
        // A blob that nothing holds and nothing refers to, and a hold that does not end.
        let held = try store.entries(of: tables.blobs)[0]
        let found = Digest(bytes: held.key.span.bytes)
        let digest = try #require(found)
        var blob = try BlobEntry(held.value.span.bytes, digest: digest)
        #expect(blob.referenceCount == 0)
        for end in [nil, noon] as [Timestamp?] {
            blob.heldUntil = end
            let value = blob.words.span.bytes.array()
            try expectFound(tables.blobs, held.key, value, "held until \(String(describing: end))")
        }
    }
}
