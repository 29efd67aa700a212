import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// Backups, and stores that are restored from them.
@Suite struct BackupTests {
    private let folder = TemporaryFolder()

    /// A store with something of everything.
    private static func fill(_ store: BlobStore) throws {
        var generator = SeededGenerator(seed: 71)
        _ = try store.apply(
            [.setCategory(Category(name: "reply", actions: []))], asOf: noon)
        for index in 0..<40 {
            let bytes = generator.bytes(index * 9_000)
            var publication = try store.publication(
                "n\(index)", bytes, owner: index % 3 == 0 ? nil : "owner \(index % 5)",
                message: "message \(index)")
            publication.app = index % 2 == 0 ? "mail" : nil
            #expect(try store.apply([.publish(publication)], asOf: noon)[0].isDone)
        }
        // A second part, one blob of several notifications, one that compresses, an empty one.
        let text = [UInt8](repeating: 0x61, count: 300_000)
        for id in ["n1", "n2", "text"] {
            try store.put(id, text, part: "more", mediaType: "text/plain")
        }
        try store.put("empty", [])
        _ = try store.apply(
            [
                .delete(id: "n5"),
                .hold(BlobHold(try store.prepare(generator.bytes(5_000)), seconds: 60)),
            ], asOf: noon)
        try store.put("n7", generator.bytes(100))
    }

    private static func backUp(_ store: BlobStore) throws -> [UInt8] {
        let output = Output()
        try store.backUp(asOf: noon) { output.bytes.append(contentsOf: $0) }
        return output.bytes
    }

    private final class Output {
        var bytes: [UInt8] = []
    }

    /// Reads an array in pieces of other sizes than it was written in.
    private static func source(
        _ bytes: [UInt8]
    ) -> (inout [UInt8], Int) throws -> Void {
        var offset = 0
        return { buffer, count in
            let count = min(count, bytes.count - offset, 40_001)
            buffer += bytes[offset..<offset + count]
            offset += count
        }
    }

    @discardableResult
    private static func restore(
        _ bytes: [UInt8], to folder: TemporaryFolder
    ) throws -> BackupHead {
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        return try BlobStore.restore(
            to: folder.path, options: options, asOf: noon, from: source(bytes))
    }

    @Test("A restored store has everything, and is another store with higher revisions")
    func roundTrip() throws {
        let (folder, other) = (TemporaryFolder(), TemporaryFolder())
        let store = try folder.open()
        try Self.fill(store)
        let head = try Self.restore(try Self.backUp(store), to: other)
        #expect(head.storeID == store.id)
        #expect(head.takenAt == noon)
        #expect(!Files.exists(other.path + "/store.new"))
        let restored = try other.open()
        let (contents, original) = (try restored.contents(), try store.contents())
        #expect(contents.withoutOrphans.differentTables(from: original.withoutOrphans) == [])
        #expect(try restored.verify().problems == [])
        #expect(restored.id != store.id)
        let (counters, before) = (try restored.counters(), try store.counters())
        let gap = counters.revision - before.revision
        #expect(StoreLimits.restoredGaps.contains(gap))
        #expect(counters.nextNotificationNumber == before.nextNotificationNumber + gap)
        #expect(counters.orphanBlobs == 0)
        #expect(counters.categories == 1)
        #expect(counters.tombstones == before.tombstones)
        #expect(counters.heldBlobs == 1)
        // It goes on as any other.
        let record = try restored.put("n7", [1, 2, 3])
        #expect(record.revision == counters.revision + 1)
        #expect(try restored.verify().problems == [])
    }

    @Test(
        "A backup has one moment, whatever is changed while it is written, and frees nothing of it")
    func oneMoment() throws {
        let (folder, other, same) = (TemporaryFolder(), TemporaryFolder(), TemporaryFolder())
        let store = try folder.open()
        try Self.fill(store)
        // What it has to have.
        try Self.restore(try Self.backUp(store), to: same)
        let output = Output()
        var round = 0
        try store.backUp(asOf: noon) { bytes in
            output.bytes.append(contentsOf: bytes)
            round += 1
            for index in 0..<40 {
                _ = try store.apply([.delete(id: "n\(index)")], asOf: noon)
            }
            try store.put("later \(round)", [UInt8](repeating: UInt8(round), count: 10_000))
            try store.freeAll()
        }
        #expect(round > 2)
        try Self.restore(output.bytes, to: other)
        let (contents, expected) = (try other.open().contents(), try same.open().contents())
        #expect(contents.differentTables(from: expected) == [])
        // What it kept is freed behind it.
        #expect(try store.counters().orphanBlobs > 0)
        try store.freeAll()
        #expect(try store.counters().orphanBlobs == 0)
        #expect(try store.verify().problems == [])
    }

    @Test("A backup whose reader goes away keeps nothing behind it")
    func brokenPipe() throws {
        let store = try folder.open()
        try Self.fill(store)
        #expect(throws: NothingThrown.self) {
            try store.backUp(asOf: noon) { _ in throw NothingThrown() }
        }
        for index in 0..<40 { _ = try store.apply([.delete(id: "n\(index)")], asOf: noon) }
        try store.freeAll()
        #expect(try store.counters().orphanBlobs == 0)
    }

    // They were, and the link in a push that was sent after the backup led to what another owner got later.
    @Test("No id that was assigned after a backup is assigned again, however often it is restored")
    func assignedIDs() throws {
        let (folder, first, second) = (TemporaryFolder(), TemporaryFolder(), TemporaryFolder())
        let store = try folder.open()
        try Self.fill(store)
        var ids = try (0..<3).map { _ in try store.put(nil, [1]).id }
        #expect(ids == ["0", "1", "2"])
        let backup = try Self.backUp(store)
        ids += try (0..<3).map { _ in try store.put(nil, [1]).id }
        for other in [first, second] {
            try Self.restore(backup, to: other)
            let restored = try other.open()
            ids += try (0..<3).map { _ in try restored.put(nil, [2]).id }
            #expect(try restored.verify().problems == [])
        }
        #expect(Set(ids).count == 12, "\(ids)")
        #expect(ids.allSatisfy { UInt64($0) != nil })
    }

    @Test("A backup whose numbers are too high for the gap is refused, and leaves no store")
    func noRoomForGap() throws {
        for number in [\Counters.revision, \.nextNotificationNumber] {
            let (folder, other) = (TemporaryFolder(), TemporaryFolder())
            let store = try folder.open()
            try Self.fill(store)
            try store.overwriteState(nil) { (transaction) throws(StoreError) in
                transaction.counters[keyPath: number] = StoreLimits.counterMax - 1
                try transaction.set(transaction.counters)
            }
            let backup = try Self.backUp(store)
            let error = try failure { try Self.restore(backup, to: other) }
            #expect(error.isCorrupt)
            #expect("\(error)".contains("leaves no room for a gap"), "\(error)")
            #expect(!Files.exists(other.path + "/data.mdb"))
        }
    }

    @Test("Cursors from before a restore are answered with resync, others' not at all")
    func cursors() throws {
        let (folder, other, third) = (TemporaryFolder(), TemporaryFolder(), TemporaryFolder())
        let store = try folder.open()
        try Self.fill(store)
        let owner = Array("owner 1".utf8)
        let bytes = try Self.backUp(store)
        // The device has read what the backup does not have.
        _ = try store.publish(try store.publication("late", [1], owner: "owner 1"), asOf: noon)
        var text: [UInt8] = []
        let page = try store.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.changes(of: owner.span.bytes, from: .beginning, limit: 1_000)
        }
        page.next.append(owner: owner.span.bytes, store: store.id, to: &text)
        try Self.restore(bytes, to: other)
        let restored = try other.open()
        let error = try failure {
            _ = try restored.feedCursor(text.span.bytes, owner: owner.span.bytes)
        }
        #expect(error.isResync)
        let stranger = Array("owner 2".utf8)
        let found = try restored.feedCursor(text.span.bytes, owner: stranger.span.bytes)
        #expect(found == nil)
        // Also behind a second restore.
        try Self.restore(try Self.backUp(restored), to: third)
        let again = try third.open()
        let second = try failure {
            _ = try again.feedCursor(text.span.bytes, owner: owner.span.bytes)
        }
        #expect(second.isResync)
        #expect(again.core.predecessors.storeIDs == [restored.id, store.id])
    }

    @Test("A backup that was cut short or changed is refused, and leaves no store")
    func damage() throws {
        let store = try folder.open()
        try Self.fill(store)
        let whole = try Self.backUp(store)
        var generator = SeededGenerator(seed: 73)
        var damaged: [[UInt8]] = [[], Array(whole.prefix(63)), Array(whole.dropLast())]
        damaged.append(whole + [0])
        for _ in 0..<testRounds(20) {
            damaged.append(Array(whole.prefix(Int.random(in: 64..<whole.count, using: &generator))))
            var changed = whole
            let index = Int.random(in: 0..<whole.count, using: &generator)
            changed[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            damaged.append(changed)
        }
        for index in 0..<64 {
            var changed = whole
            changed[index] ^= 4
            damaged.append(changed)
        }
        for bytes in damaged {
            let target = TemporaryFolder()
            // The four reserved bytes behind the head's checksum mean nothing, but are hashed.
            #expect(throws: BackupError.self, "seed 73") { try Self.restore(bytes, to: target) }
            #expect(!Files.exists(target.path + "/data.mdb"))
            #expect(!Files.exists(target.path + "/store.new"))
        }
    }

    @Test("Restoring over a store is refused, and changes nothing")
    func overStore() throws {
        let (folder, other) = (TemporaryFolder(), TemporaryFolder())
        let bytes: [UInt8]
        do {
            let store = try folder.open()
            try Self.fill(store)
            bytes = try Self.backUp(store)
            try other.open().put("kept", [1])
        }
        // What is no backup was named first, and a pipe was waited for.
        for bytes in [bytes, [], Array(bytes.prefix(63))] {
            let error = try failure { try Self.restore(bytes, to: other) }
            #expect(error.openReason?.contains("data.mdb") == true)
        }
        #expect(try other.open().lookUp("kept") == .found)
    }

    @Test("A damaged chunk ends a backup with its name")
    func damagedChunk() throws {
        var generator = SeededGenerator(seed: 79)
        let bytes = generator.bytes(100_000)
        do { try folder.open().put("a", bytes) }
        try Files.damage(bytes[50_000..<50_064], in: folder.path("data.mdb"))
        let error = try failure { _ = try Self.backUp(try folder.open()) }
        #expect(error.description.contains("failed its checksum"))
    }

    @Test("A compacted store is the same one in a shorter file")
    func compact() throws {
        var generator = SeededGenerator(seed: 109)
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        let owner = Array("owner 1".utf8)
        var text: [UInt8] = []
        let (before, id): (StoreContents, StoreID)
        do {
            let store = try folder.open()
            try Self.fill(store)
            try store.put(nil, [1])
            for index in 0..<40 { try store.put("gone \(index)", generator.bytes(200_000)) }
            for index in 0..<40 { _ = try store.apply([.delete(id: "gone \(index)")], asOf: noon) }
            let page = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.changes(of: owner.span.bytes, from: .beginning, limit: 1_000)
            }
            page.next.append(owner: owner.span.bytes, store: store.id, to: &text)
            (before, id) = (try store.contents(), store.id)
        }
        let sizes = try BlobStore.compact(at: folder.path, options: options, asOf: noon)
        #expect(sizes.before > 8_000_000 && sizes.after < sizes.before - 7_000_000)
        #expect(!Files.exists(folder.path + "/store.new"))
        let store = try folder.open()
        #expect(store.id == id)
        let counters = try store.counters()
        #expect(counters.revision == before.counters.revision && counters.orphanBlobs == 0)
        #expect(counters.nextNotificationNumber == 1)
        #expect(
            try store.contents().withoutOrphans.differentTables(from: before.withoutOrphans) == [])
        #expect(try store.feedCursor(text.span.bytes, owner: owner.span.bytes) != nil)
        #expect(try store.verify().problems == [])
        // It goes on, and is compacted once more.
        try store.put("later", generator.bytes(10_000))
        let error = try failure {
            _ = try BlobStore.compact(at: folder.path, options: options, asOf: noon)
        }
        #expect(error.openReason != nil)
    }
}
