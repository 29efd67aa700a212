import Bytes
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Damage to the file, done while no process has it open, as a disk does it.
@Suite struct CorruptionTests {
    private static let size = 200_000

    /// A store with the payloads `a` and `b`, and where the bytes of `a` begin in the file.
    private struct Damaged {
        let folder = TemporaryFolder()
        let payloads: [[UInt8]]
        let digest: Digest
        let path: String
        var data: [UInt8]

        init(mediaType: String = "image/jpeg") throws {
            var generator = SeededGenerator(seed: 61)
            let one = generator.bytes(CorruptionTests.size)
            payloads = [one, one.reversed()]
            path = folder.path + "/data.mdb"
            let store = try folder.open()
            // In one commit: LMDB copies pages, so a second one would leave an old copy of the
            // first record in the file.
            let outcomes = try store.apply(
                [
                    .publish(store.publication("a", payloads[0], mediaType: mediaType)),
                    .publish(store.publication("b", payloads[1], mediaType: mediaType)),
                ], asOf: noon)
            digest = try #require(outcomes[0].record).parts[0].digest
            data = []
        }

        mutating func load() throws {
            data = try Files.read(path)
        }
    }

    @Test("A flipped bit in a stored chunk: nothing of that chunk is returned, others are served")
    func flippedBit() throws {
        var damaged = try Damaged()
        try damaged.load()
        let chunk = StoreLimits.chunkByteCountMax
        let first = Self.size % chunk
        // In the second chunk: its first byte, one in the middle, its last.
        let start = try #require(
            damaged.data.firstRange(of: Array(damaged.payloads[0][first..<first + 32]))
        ).lowerBound
        for offset in [start, start + 30_000, start + chunk - 1] {
            let original = damaged.data[offset]
            try Files.overwrite([original ^ 0x10], at: offset, in: damaged.path)
            do {
                let store = try damaged.folder.open()
                for _ in 0..<2 {
                    let error = try failure { _ = try store.ownedPayload(for: "a", asOf: noon) }
                    #expect(error.isCorrupt)
                    let byDigest = try failure {
                        _ = try store.ownedPayload(digest: damaged.digest, asOf: noon)
                    }
                    #expect(byDigest.isCorrupt)
                }
                // Not one byte of the chunk, not even one that is right.
                let inside = try failure {
                    _ = try store.ownedPayload(for: "a", asOf: noon, range: first + 5..<first + 6)
                }
                #expect(inside.isCorrupt)
                let before = try store.ownedPayload(for: "a", asOf: noon, range: 0..<first)
                #expect(before == Array(damaged.payloads[0][..<first]))
                #expect(try store.ownedPayload(for: "b", asOf: noon) == damaged.payloads[1])
                let report = try store.verify()
                #expect(report.problemCount == 1)
                #expect(report.problems.first?.contains("chunk 1 of \(damaged.digest)") == true)
            }
            try Files.overwrite([original], at: offset, in: damaged.path)
        }
        let store = try damaged.folder.open()
        #expect(try store.ownedPayload(for: "a", asOf: noon) == damaged.payloads[0])
    }

    @Test("Any damaged byte of a record is found when it is first read, and spares the others")
    func record() throws {
        var damaged = try Damaged()
        try damaged.load()
        // The records stand as they are encoded; that of `a` is the first.
        let encoded: [UInt8]
        do {
            let store = try damaged.folder.open()
            let record = try #require(try store.record(for: "a", asOf: noon))
            encoded = RecordEncoder.bytes(record)
        }
        let start = try #require(damaged.data.firstRange(of: encoded)).lowerBound
        for offset in stride(from: 0, to: encoded.count, by: 7) {
            try Files.write(damaged.data, to: damaged.path)
            try Files.overwrite([encoded[offset] ^ 0x20], at: start + offset, in: damaged.path)
            do {
                let store = try damaged.folder.open()
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
        let folder = TemporaryFolder()
        var generator = SeededGenerator(seed: 62)
        let text = generator.bytes(150_000).map { 0x61 + $0 % 8 }
        let stored: [UInt8]
        do {
            let store = try folder.open()
            let blob = try store.put("t", text, mediaType: "text/plain").parts[0].blob
            #expect(blob.coding == .gzip)
            stored = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.storedBytes(of: blob, from: 0).array()
            }
        }
        let path = folder.path + "/data.mdb"
        let start = try #require(try Files.read(path).firstRange(of: Array(stored[..<64])))
            .lowerBound
        try Files.overwrite([stored[1_000] ^ 4], at: start + 1_000, in: path)
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
}
