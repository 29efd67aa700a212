import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// What a daemon that has ended may have sent zero-copy is not freed until they have had their
/// time to read it; the boot clock is an argument.
@Suite struct ZeroCopyGraceTests {
    private let folder = TemporaryFolder()

    static let boot = BootID("0b7d6d0c-7b9f-4c1e-9d2a-5d3f0f2f6a01")!
    static let otherBoot = BootID("11111111-2222-3333-4444-555555555555")!
    static let grace: Int64 = 60_000

    private static func bytes(_ number: UInt8) -> [UInt8] {
        [UInt8](repeating: number, count: DataPages.byteCountMin)
    }

    private static func at(_ seconds: Int64, _ bootID: BootID = boot) -> BootTime {
        BootTime(bootID: bootID, milliseconds: seconds * 1_000)
    }

    private func run(
        _ folder: TemporaryFolder, from start: BootTime, leaving problems: [String] = [],
        _ body: (BlobStore) throws -> Void
    ) throws {
        let store = try folder.open()
        try store.allowZeroCopy(at: start, graceMilliseconds: Self.grace)
        try body(store)
        #expect(try store.verify().problems == problems)
    }

    /// Frees what may be freed so many seconds after the boot, and expects it to be so many blobs.
    private func expectFreed(
        _ count: Int, _ store: BlobStore, at seconds: Int64?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let freed = try store.freeOrphans(
            byteCountMax: 1 << 30, bootMilliseconds: seconds.map { $0 * 1_000 })
        #expect(freed.blobs == count, sourceLocation: sourceLocation)
    }

    @Test("A store that never sent zero-copy holds nothing back, and its own blobs never wait")
    func firstRun() throws {
        let plain = try folder.open()
        #expect(!plain.allowsZeroCopy)
        try plain.put("old", Self.bytes(1))
        try plain.delete("old", asOf: noon)
        _ = consume plain
        try run(folder, from: Self.at(1_000)) { store in
            #expect(store.allowsZeroCopy)
            try expectFreed(1, store, at: 1_000)
            try store.put("new", Self.bytes(2))
            try store.delete("new", asOf: noon)
            try expectFreed(1, store, at: nil)
        }
    }

    @Test("A blob of an earlier run waits for a minute after this start; one of this run does not")
    func earlierBlob() throws {
        try run(folder, from: Self.at(1_000)) { store in try store.put("old", Self.bytes(1)) }
        try run(folder, from: Self.at(2_000)) { store in
            try store.delete("old", asOf: noon)
            try store.put("new", Self.bytes(2))
            try store.delete("new", asOf: noon)
            try expectFreed(1, store, at: nil)
            try expectFreed(0, store, at: 2_059)
            // A clock that stands before the start, or at its very end, frees nothing.
            try expectFreed(0, store, at: 1)
            #expect(try store.freeOrphans(byteCountMax: 1, bootMilliseconds: .min).blobs == 0)
            try expectFreed(1, store, at: 2_060)
        }
    }

    @Test("After a boot no peer is left")
    func otherBoot() throws {
        try run(folder, from: Self.at(1_000)) { store in
            try store.put("old", Self.bytes(1))
            try store.put("older", Self.bytes(2))
            try store.delete("older", asOf: noon)
        }
        try run(folder, from: Self.at(5, Self.otherBoot)) { store in
            try store.delete("old", asOf: noon)
            try expectFreed(2, store, at: 5)
            try store.put("next", Self.bytes(3))
        }
        // And from then on it counts as any run.
        try run(folder, from: Self.at(6, Self.otherBoot)) { store in
            try store.delete("next", asOf: noon)
            try expectFreed(0, store, at: 6)
            try expectFreed(1, store, at: 66)
        }
    }

    @Test("A start in the future counts as one now")
    func future() throws {
        try run(folder, from: Self.at(1_000)) { _ in }
        try run(folder, from: Self.at(9_000_000)) { store in
            try store.put("old", Self.bytes(1))
            try store.delete("old", asOf: noon)
        }
        try run(folder, from: Self.at(2_000)) { store in
            try expectFreed(0, store, at: 2_000)
            try expectFreed(1, store, at: 2_060)
        }
    }

    @Test("A mark that is damaged makes everything wait, and is written anew")
    func damaged() throws {
        let problem = #"table meta, key "zero-copy": corrupt: the zero-copy mark"#
        try run(folder, from: Self.at(1_000), leaving: [problem]) { store in
            try store.put("old", Self.bytes(1))
            try store.delete("old", asOf: noon)
            try store.overwrite(
                Array(ZeroCopyMark.name.utf8), in: store.core.tables.meta, with: [1, 2, 3])
        }
        try run(folder, from: Self.at(50_000)) { store in
            try expectFreed(0, store, at: 50_059)
            try expectFreed(1, store, at: 50_060)
        }
    }

    @Test(
        "What was written ahead by a run that broke off was sent to nobody, and short ones never are"
    )
    func staged() throws {
        let mark = ZeroCopyMark(
            bootID: Self.boot, returnedTransaction: 0, transaction: 9, moment: 1_000)
        let zeroCopyGrace = ZeroCopyGrace(
            mark: mark, graceMilliseconds: Self.grace, start: 1_000, firstOwnNumber: 5)
        let digest = Golden.digest
        let staged = BlobStateEntry(
            digest: digest, transaction: 3, storedByteCount: 9_000, state: .staged)
        let released = BlobStateEntry(
            digest: digest, transaction: 3, storedByteCount: 9_000, state: .released)
        #expect(zeroCopyGrace.isReturned(1, staged, bootMilliseconds: nil))
        #expect(!zeroCopyGrace.isReturned(1, released, bootMilliseconds: nil))
        let short = BlobStateEntry(
            digest: digest, transaction: 3, storedByteCount: DataPages.byteCountMin - 1,
            state: .released)
        #expect(zeroCopyGrace.isReturned(1, short, bootMilliseconds: nil))
    }

    /// What a daemon releases in a crash loop is neither freed before the grace of the first start
    /// behind it is over, nor kept for longer than two graces and the time to the next start.
    @Test("However often a daemon starts, nothing is freed too early or kept for long")
    func bounded() {
        let seed: UInt64 = testSeed(33)
        var generator = SeededGenerator(seed: seed)
        var now: Int64 = 1_000
        var mark = ZeroCopyMark(
            bootID: Self.boot, returnedTransaction: 0, transaction: 0, moment: now)
        var kept: [(transaction: UInt64, runEnd: Int64)] = []
        for index in 1...5_000 {
            let step = Int64.random(
                in: 0...(index % 1_000 < 900 ? 900 : 30_000), using: &generator)
            now += step
            let last = UInt64(index) * 3
            mark = mark.followed(by: last, at: now, graceMilliseconds: Self.grace)
            kept.append((last, now))
            let zeroCopyGrace = ZeroCopyGrace(
                mark: mark, graceMilliseconds: Self.grace, start: now, firstOwnNumber: 1 << 40)
            kept.removeAll { orphan in
                let entry = BlobStateEntry(
                    digest: Golden.digest, transaction: orphan.transaction,
                    storedByteCount: 9_000, state: .released)
                let isReturned = zeroCopyGrace.isReturned(1, entry, bootMilliseconds: now)
                let waited = now - orphan.runEnd
                #expect(!isReturned || waited >= Self.grace, "seed \(seed) \(index)")
                #expect(isReturned || waited <= 2 * Self.grace + 30_000, "seed \(seed) \(index)")
                return isReturned
            }
        }
    }
}
