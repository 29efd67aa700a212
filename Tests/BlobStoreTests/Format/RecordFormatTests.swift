import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// What a reader of records does with bytes that no publisher wrote: an error, never a trap and
/// never a value that passes for the right one.
@Suite struct RecordFormatTests {
    static let id = Array("42".utf8)

    /// Reads a record as the store does, every part and every field.
    static func read(_ bytes: [UInt8], checking: Bool) throws -> Record {
        let view = try RecordView(bytes.span.bytes)
        if checking { try view.check(id: id.span.bytes) }
        for index in 0..<view.partCount {
            let part = try view.part(at: index)
            _ = part.name.array()
            _ = part.mediaType.array()
            _ = try part.blob()
        }
        _ = try view.part(named: Array("icon".utf8).span.bytes)?.blob()
        _ = try view.part(named: RawSpan())?.blob()
        return try view.record(id: "42")
    }

    @Test("Any flipped bit is found")
    func flippedBits() throws {
        let bytes = GoldenBytesTests.record
        for bit in 0..<bytes.count * 8 {
            #expect(throws: StoreError.self, "bit \(bit % 8) of byte \(bit / 8)") {
                try Self.read(bytes.flipping(bit: bit), checking: true)
            }
        }
    }

    /// The number of parts stands before the checksum; it was not covered at first, and a record
    /// could lose a part without a word.
    @Test("A part count that was lowered is found")
    func loweredPartCount() throws {
        var bytes = GoldenBytesTests.record
        bytes[2] = 1
        #expect(throws: StoreError.self) { try Self.read(bytes, checking: true) }
    }

    @Test("Any record that is cut short, or goes on, is refused by its lengths alone")
    func truncated() {
        let bytes = GoldenBytesTests.record
        for count in 0..<bytes.count {
            #expect(throws: StoreError.self, "\(count) bytes") {
                try Self.read(Array(bytes[..<count]), checking: false)
            }
        }
        #expect(throws: StoreError.self) { try Self.read(bytes + [0], checking: false) }
    }

    @Test("No byte anywhere makes the reader trap, checksum or not", arguments: [0, 1, 2])
    func everyByteAtEveryOffset(round: Int) {
        let bytes = GoldenBytesTests.record
        for offset in 0..<bytes.count {
            for value: UInt8 in round == 0 ? [0, 0x7F, 0x80] : round == 1 ? [0xFF, 1] : [0x2F] {
                var damaged = bytes
                damaged[offset] = value
                // Whatever it says, it says it without trapping, and a good checksum means the same
                // record.
                _ = try? Self.read(damaged, checking: false)
                if let record = try? Self.read(damaged, checking: true) {
                    #expect(record == GoldenBytesTests.recordValue, "offset \(offset)")
                }
            }
        }
    }

    @Test("Rubbish does not make the reader trap", arguments: [UInt64(1), 2, 3, 4])
    func rubbish(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<4_000 {
            // Mutations of a good record get further than noise.
            var bytes = GoldenBytesTests.record
            for _ in 0...Int.random(in: 0..<8, using: &generator) {
                let offset = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[offset] = UInt8.random(in: 0...255, using: &generator)
            }
            if Bool.random(using: &generator) {
                // Lengths that agree with themselves take the reader further still.
                let count = UInt32(bytes.count)
                for index in 0..<4 {
                    bytes[32 + index] = UInt8(truncatingIfNeeded: count >> (8 * UInt32(index)))
                }
                bytes[0] = 1
                bytes[1] = 0
            }
            _ = try? Self.read(bytes, checking: false)
        }
    }

    @Test("A field that is not known is refused", arguments: [UInt16(14), 0x7000, 0x8001])
    func unknownField(tag: UInt16) {
        #expect(throws: StoreError.self) {
            try Self.read(Self.appending(field: tag), checking: true)
        }
    }

    @Test("A record of another version, or with a flag that is not known, is refused")
    func unknownVersion() {
        for (offset, value) in [(0, UInt8(2)), (0, 0), (1, 1), (1, 0x80)] {
            var bytes = GoldenBytesTests.record
            bytes[offset] = value
            Self.seal(&bytes)
            #expect(throws: StoreError.self, "byte \(offset) is \(value)") {
                try Self.read(bytes, checking: true)
            }
        }
    }

    @Test("Records of every shape come back as they were", arguments: [UInt64(11), 12, 13])
    func roundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let record = Self.record(&generator)
            let bytes = RecordEncoder.bytes(record)
            let view = try RecordView(bytes.span.bytes)
            try view.check(id: Array(record.id.utf8).span.bytes)
            let read = try view.record(id: record.id)
            #expect(read == record, "seed \(seed)")
            for part in record.parts {
                let name = Array(part.name.utf8)
                let found = try view.part(named: name.span.bytes)?.blob()
                #expect(found == part.blob, "seed \(seed)")
            }
        }
    }

    /// The golden record with one more field, its lengths and checksum right.
    private static func appending(field: UInt16) -> [UInt8] {
        var bytes = GoldenBytesTests.record
        bytes.append(littleEndian: field)
        bytes.append(littleEndian: UInt16(0))
        bytes.append(littleEndian: UInt32(3))
        bytes += [1, 2, 3]
        var count: [UInt8] = []
        count.append(littleEndian: UInt32(bytes.count))
        bytes.replaceSubrange(32..<36, with: count)
        seal(&bytes)
        return bytes
    }

    private static func seal(_ bytes: inout [UInt8]) {
        var checksum: [UInt8] = []
        checksum.append(
            littleEndian:
                RecordView.checksum(id: id.span.bytes, record: bytes.span.bytes))
        bytes.replaceSubrange(4..<8, with: checksum)
    }

    private static func record(_ generator: inout SeededGenerator) -> Record {
        func text(_ range: ClosedRange<Int>) -> String {
            let count = Int.random(in: range, using: &generator)
            return String(
                decoding: (0..<count).map { _ in UInt8.random(in: 97...122, using: &generator) },
                as: UTF8.self)
        }
        var parts: [Part] = []
        for index in 0..<Int.random(in: 0...StoreLimits.partCountMax, using: &generator) {
            let isDefault = index == 0 && Bool.random(using: &generator)
            parts.append(
                Part(
                    name: isDefault ? "payload" : text(0...50) + "\(index)",
                    mediaType: text(3...255),
                    blob: blob(&generator)))
        }
        let latest = StoreLimits.expiryMillisecondsMax
        return Record(
            id: text(1...255), owner: Bool.random(using: &generator) ? text(0...255) : nil,
            message: Bool.random(using: &generator) ? text(0...4_096) : nil,
            richType: Bool.random(using: &generator) ? text(0...255) : nil,
            createdAt: Timestamp(milliseconds: .random(in: 0...latest, using: &generator)),
            expiresAt: Timestamp(milliseconds: .random(in: 0...latest, using: &generator)),
            revision: .random(in: 0...StoreLimits.counterMax, using: &generator),
            parts: RecordEncoder.sorted(parts))
    }

    private static func blob(_ generator: inout SeededGenerator) -> BlobReference {
        let byteCount = Int.random(in: 0...1 << 36, using: &generator)
        let isCoded = Bool.random(using: &generator)
        return BlobReference(
            digest: Digest(bytes: generator.bytes(32).span.bytes)!, number: generator.next(),
            byteCount: byteCount,
            storedByteCount: isCoded ? Int.random(in: 0...1 << 36, using: &generator) : byteCount,
            coding: isCoded ? .gzip : .identity)
    }
}
