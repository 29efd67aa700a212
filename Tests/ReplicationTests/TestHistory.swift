import Bytes
import Hashing
import Replication
import TestSupport
import Testing

@testable import BlobStore

/// A leader's store under random changes, and what it had behind each of them.
final class TestHistory {
    let objects = MemoryObjects()
    let clock = TestClock()
    let leader: Member
    private var generator: SeededGenerator
    /// What the tables had behind a batch: behind one in four.
    private(set) var digests: [UInt64: Digest] = [:]
    /// When each batch was done, in their order.
    private(set) var times: [(sequence: UInt64, time: Timestamp)] = []

    /// Payloads are of these lengths: of one chunk, and of several, shipped as objects.
    private static let lengths = [0, 10, 3_000, 8_000, 66_000, 70_000, 140_000]

    init(seed: UInt64, schedule: BaseSchedule) throws {
        generator = SeededGenerator(seed: seed)
        leader = try Member("leader", objects, clock: clock)
        leader.schedule = schedule
        for _ in 0..<10 { try change(leader.store) }
        digests = [:]
        times = []
        try leader.beginWithBase()
        note()
    }

    /// Does changes, ships them, and does what is due in the bucket.
    func run(_ count: Int, stepSeconds: Int) throws {
        for _ in 0..<count {
            clock.advance(milliseconds: Int64(generator.below(stepSeconds * 1_000)))
            try change(leader.store)
            note()
            if generator.chance(40) { try leader.ship() }
            if generator.chance(10) { try leader.maintain() }
            if generator.chance(5) { _ = try leader.store.freeOrphans(byteCountMax: 1 << 20) }
            // What the maintenance itself changes is a batch, too.
            note()
        }
        try leader.ship()
        try leader.maintain()
        note()
        try leader.ship()
    }

    /// A change a minute, and what is due in the bucket.
    @discardableResult
    func work(minutes: Int) throws -> [BucketMaintenance.Step] {
        var steps: [BucketMaintenance.Step] = []
        for _ in 0..<minutes {
            clock.advance(milliseconds: 60_000)
            try change(leader.store)
            try leader.ship()
            steps += try leader.maintain()
        }
        try leader.ship()
        return steps
    }

    /// One batch.
    func change(_ store: BlobStore) throws {
        let id = "n\(generator.below(60))"
        if generator.chance(30) {
            _ = try store.delete(id, asOf: clock.now)
        } else {
            // Of few contents, so that the same is stored, retired and stored again.
            let length = Self.lengths[generator.below(Self.lengths.count)]
            let bytes = SeededGenerator.bytes(length, seed: UInt64(generator.below(2)))
            var writer = store.makePayloadWriter()
            try writer.append(bytes.span.bytes)
            _ = try store.publish(
                Publication(
                    id: id, payload: try writer.finish(mediaType: "application/octet-stream"),
                    expiry: .at(clock.now.adding(seconds: 8_640_000))), asOf: clock.now)
        }
    }

    private func note() {
        let sequence = leader.store.lastSequence
        guard times.last.map({ $0.sequence < sequence }) != false else { return }
        times.append((sequence, clock.now))
        if generator.chance(25) { digests[sequence] = try? leader.store.tablesDigest() }
    }

    /// A noted batch.
    func anySequence(from first: UInt64) -> UInt64? {
        let all = digests.keys.filter { $0 >= first }.sorted()
        return all.isEmpty ? nil : all[generator.below(all.count)]
    }
}

extension BlobStore {
    /// All that the tables have but what is said of the store itself.
    func tablesDigest() throws -> Digest {
        var bytes: [UInt8] = []
        try backUp(asOf: noon) { bytes.append(contentsOf: $0) }
        var rest = bytes[...]
        func read(_ buffer: inout [UInt8], _ byteCountMax: Int) {
            buffer += rest.prefix(byteCountMax)
            rest = rest.dropFirst(byteCountMax)
        }
        var reader = try BackupReader(from: read)
        var hash = SHA256()
        while let block = try reader.nextBlock(from: read) {
            guard block.table != .meta else { continue }
            try block.forEachEntry { key, value in
                hash.update(key)
                hash.update(value)
            }
        }
        return Digest(hash.digest())
    }
}
