import Bytes
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Damage to the file, done while no process has it open, as a disk does it.
@Suite struct CorruptionTests {
    private let folder = TemporaryFolder()

    private static let size = 200_000

    /// A store with the payloads `a` and `b`, and its file.
    private struct Sound {
        let folder = TemporaryFolder()
        let payloads: [[UInt8]]
        let digest: Digest
        let path: String
        let data: [UInt8]

        init() throws {
            var generator = SeededGenerator(seed: 61)
            let one = generator.bytes(CorruptionTests.size)
            payloads = [one, one.reversed()]
            path = folder.path("data.mdb")
            do {
                let store = try folder.open()
                // In one commit: LMDB copies pages, so a second one would leave an old copy of the first record in
                // the file.
                let outcomes = try store.apply(
                    [
                        .publish(store.publication("a", payloads[0])),
                        .publish(store.publication("b", payloads[1])),
                    ], asOf: noon)
                digest = try #require(outcomes[0].record).parts[0].digest
            }
            data = try Files.read(path)
        }
    }

    @Test("A flipped bit in a stored chunk: nothing of that chunk is returned, others are served")
    func flippedBit() throws {
        let sound = try Sound()
        let chunk = StoreLimits.chunkByteCountMax
        let first = Self.size % chunk
        // In the second chunk: its first byte, one in the middle, its last.
        let start = try #require(
            sound.data.firstRange(of: Array(sound.payloads[0][first..<first + 32]))
        ).lowerBound
        for offset in [start, start + 30_000, start + chunk - 1] {
            let original = sound.data[offset]
            try Files.overwrite([original ^ 0x10], at: offset, in: sound.path)
            do {
                let store = try sound.folder.open()
                for _ in 0..<2 {
                    let error = try failure { _ = try store.ownedPayload(for: "a", asOf: noon) }
                    #expect(error.isCorrupt)
                    let byDigest = try failure {
                        _ = try store.ownedPayload(digest: sound.digest, asOf: noon)
                    }
                    #expect(byDigest.isCorrupt)
                }
                // Not one byte of the chunk, not even one that is right.
                let inside = try failure {
                    _ = try store.ownedPayload(for: "a", asOf: noon, range: first + 5..<first + 6)
                }
                #expect(inside.isCorrupt)
                let before = try store.ownedPayload(for: "a", asOf: noon, range: 0..<first)
                #expect(before == Array(sound.payloads[0][..<first]))
                #expect(try store.ownedPayload(for: "b", asOf: noon) == sound.payloads[1])
                let report = try store.verify()
                #expect(report.problemCount == 1)
                #expect(report.problems.first?.contains("chunk 1 of \(sound.digest)") == true)
            }
            try Files.overwrite([original], at: offset, in: sound.path)
        }
        let store = try sound.folder.open()
        #expect(try store.ownedPayload(for: "a", asOf: noon) == sound.payloads[0])
    }

    @Test("Any damaged byte of a record is found when it is first read, and spares the others")
    func record() throws {
        let sound = try Sound()
        // The records stand as they are encoded; that of `a` is the first.
        let encoded: [UInt8]
        do {
            let store = try sound.folder.open()
            let record = try #require(try store.record(for: "a", asOf: noon))
            encoded = RecordEncoder.bytes(record)
        }
        let start = try #require(sound.data.firstRange(of: encoded)).lowerBound
        for offset in stride(from: 0, to: encoded.count, by: 7) {
            try Files.write(sound.data, to: sound.path)
            try Files.overwrite([encoded[offset] ^ 0x20], at: start + offset, in: sound.path)
            do {
                let store = try sound.folder.open()
                let lookUp = try failure { _ = try store.lookUp("a") }
                #expect(lookUp.isCorrupt, "byte \(offset)")
                let record = try failure { _ = try store.record(for: "a", asOf: noon) }
                #expect(record.isCorrupt, "byte \(offset)")
                let replaced = try failure { try store.put("a", [1]) }
                #expect(replaced.isCorrupt, "byte \(offset)")
                #expect(try store.lookUp("b") == .found)
                #expect(try !store.verify().isClean, "byte \(offset)")
                // Others can be published in the same batch.
                let outcomes = try store.apply(
                    [.delete(id: "a"), .publish(store.publication("c", [1]))], asOf: noon)
                #expect(outcomes[0].error?.isCorrupt == true)
                #expect(outcomes[1].isDone)
                try store.delete("c", asOf: noon)
                try store.freeAll()
            }
        }
    }

    @Test("A flipped bit in a compressed payload is found before it is inflated")
    func compressed() throws {
        var generator = SeededGenerator(seed: 62)
        let text = generator.bytes(150_000).map { 0x61 + $0 % 8 }
        let stored: [UInt8]
        do {
            let store = try folder.open()
            let blob = try store.put("t", text, mediaType: "text/plain").parts[0].blob
            #expect(blob.coding == .gzip)
            stored = try store.storedBytes(of: blob)
        }
        try Files.damage(stored[1_000..<1_064], in: folder.path("data.mdb"))
        let store = try folder.open()
        let error = try failure { _ = try store.ownedPayload(for: "t", asOf: noon) }
        #expect(error.isCorrupt)
        var pieces = 0
        #expect(throws: StoreError.self) {
            _ = try store.withPayload(for: "t", asOf: noon) { payload in
                try payload.forEachPiece { _ in pieces += 1 }
            }
        }
        #expect(pieces == 0)
    }

    private static let later = noon.adding(seconds: 100)

    @Test("A sweep steps over a damaged record, and a second one writes nothing for it")
    func sweptRecord() throws {
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
        try Files.damage("message-of-a".utf8, in: folder.path("data.mdb"))

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
        for (key, table) in rubbish { try store.overwrite(key, in: table, with: [7, 7, 7]) }

        let first = try store.sweepExpired(asOf: Self.later, limit: 10)
        #expect(first == SweepResult(forgotten: 2, holdsEnded: 1, damaged: 4))
        let before = try store.lastTransaction()
        #expect(try store.sweepExpired(asOf: Self.later, limit: 10) == SweepResult(damaged: 4))
        #expect(try store.lastTransaction() == before)
        #expect(try !store.verify().isClean)
    }

    @Test("Freeing steps over a damaged orphan")
    func orphan() throws {
        let store = try folder.open()
        let first = try store.put("a", Array("first".utf8))
        try store.put("b", Array("second".utf8))
        try store.delete("a", asOf: noon)
        try store.delete("b", asOf: noon)
        try store.overwrite(
            Keys.state(first.parts[0].blob.number, .toBeFreed).span.bytes.array(),
            in: store.core.tables.orphans, with: [UInt8](repeating: 7, count: 10))
        #expect(try store.freeOrphans(byteCountMax: 1 << 20).blobs == 1)
        #expect(try store.statistics().orphanBlobs == 1)
    }

    @Test("A sweep steps over a key that is none, and does the rest")
    func damagedKey() throws {
        let store = try folder.open()
        try store.put("a", [1], seconds: 1)
        // Of a time before all others, and of no kind.
        let key: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1, 0, 9]
        try store.overwrite(key, in: store.core.tables.index, with: [])
        let swept = try store.sweepExpired(asOf: Self.later, limit: 10)
        #expect(swept.expired == 1)
        #expect(try store.sweepExpired(asOf: Self.later, limit: 10).expired == 0)
    }

    /// The whole sweep failed each second, and nothing expired any more.
    @Test("A sweep steps over what meets damage in the middle of its removal, and does the rest")
    func inTheMiddle() throws {
        let store = try folder.open()
        for number in 0..<5 {
            try store.put(
                "n\(number)", [UInt8](repeating: UInt8(number), count: number == 2 ? 2_000 : 10),
                seconds: 1)
        }
        // What one of them takes from the counter is more than it has left.
        var counters = try store.counters()
        counters.bytesReferenced = 40
        try store.overwrite(
            Array(Counters.name.utf8), in: store.core.tables.meta,
            with: counters.value.span.bytes.array())
        let swept = try store.sweepExpired(asOf: Self.later, limit: 10)
        #expect(swept == SweepResult(expired: 4, damaged: 1))
        #expect(try store.sweepExpired(asOf: Self.later, limit: 10) == SweepResult(damaged: 1))
        #expect(try store.counters().notifications == 1)
    }

    /// The step failed each second: no notification after the damaged one was given its payload.
    @Test("A damaged record does not keep other notifications from being healed")
    func healing() throws {
        var generator = SeededGenerator(seed: 63)
        let bytes = generator.bytes(200_000)
        let store = try folder.open()
        for id in ["a", "b", "c"] { try store.put(id, bytes) }
        let blob = try #require(try store.record(for: "a", asOf: noon)).parts[0].blob
        store.core.quarantine.confirm(blob, chunkCount: 1)
        try store.quarantineFound(asOf: noon)
        try store.put("d", bytes)
        var record = try #require(
            try store.entries(of: store.core.tables.notifications).first {
                $0.key == Array("b".utf8)
            }
        ).value
        record[record.count - 1] ^= 1
        try store.overwrite(
            Array("b".utf8), in: store.core.tables.notifications, with: record)
        var position = HealingPosition()
        while try store.heal(&position, asOf: noon) {}
        for id in ["a", "c", "d"] {
            #expect(try store.ownedPayload(for: id, asOf: noon) == bytes, "\(id)")
        }
    }
}
