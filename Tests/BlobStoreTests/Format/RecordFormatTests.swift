import BlobJSON
import Bytes
import Notifications
import TestSupport
import Testing

@testable import BlobStore

/// What a reader of records does with bytes that no publisher wrote: an error, never a trap and
/// never a value that passes for the right one.
@Suite struct RecordFormatTests {
    private static let samples = [RecordSamples.parts, RecordSamples.fields]

    @Test("Details that say nothing have no bytes; no actions of its own and none at all differ")
    func empty() throws {
        var record = RecordSamples.parts
        let bytes = RecordEncoder.bytes(record)
        // A place in the history that is the record's own revision says nothing, either.
        record.arrival = record.revision
        #expect(RecordEncoder.bytes(record) == bytes)
        let read = try RecordSamples.read(bytes, key: nil, id: "42")
        #expect(read.details == NotificationDetails() && read.sequence == read.revision)
        record.details.actions = []
        let none = try RecordSamples.read(RecordEncoder.bytes(record), key: nil, id: "42")
        #expect(none.details.actions == [])
    }

    @Test("All texts, lists and parts at their limits come back as they were")
    func longest() throws {
        func text(_ count: Int, _ number: Int = 0) -> String {
            String(String(repeating: "x", count: count - 2) + "\(10 + number)")
        }
        var record = RecordSamples.fields
        for field in TextField.allCases { record[field] = text(field.kind.byteCountMax) }
        record.details.platforms = (0..<StoreLimits.platformCountMax).map {
            text(StoreLimits.platformByteCountMax, $0)
        }
        record.details.actions = (0..<StoreLimits.actionCountMax).map {
            NotificationAction(
                identifier: text(StoreLimits.actionIdentifierByteCountMax, $0),
                title: text(StoreLimits.actionTitleByteCountMax), isDestructive: $0 == 3)
        }
        record.details.data = JSONFragment(
            checked: [UInt8](repeating: 0x31, count: StoreLimits.dataByteCountMax))
        record.details.responses = (0..<StoreLimits.responseCountMax).map { number in
            RecordedResponse(
                action: text(64), key: text(TextKind.responseKey.byteCountMax, number),
                device: text(64), at: noon, revision: 13, staysOnScreen: false,
                contentExtension: ContentExtensionAnswer.allCases[number % 2])
        }
        record.parts = (0..<StoreLimits.partCountMax).map {
            Part(
                name: text(TextKind.part.byteCountMax, $0),
                mediaType: "x/" + text(TextKind.mediaType.byteCountMax - 2), blob: Golden.blob)
        }
        let bytes = RecordEncoder.bytes(record)
        let read = try RecordSamples.read(bytes, key: Array(record.id.utf8), id: record.id)
        #expect(read == record)
        let view = try RecordView(bytes.span.bytes)
        for part in record.parts {
            let name = Array(part.name.utf8)
            let found = try view.part(named: name.span.bytes)?.blob()
            #expect(found == part.blob)
        }
    }

    @Test("No byte anywhere makes the reader trap, checksum or not", arguments: samples)
    func everyByteAtEveryOffset(record: Record) {
        let bytes = RecordEncoder.bytes(record)
        for offset in 0..<bytes.count {
            for value: UInt8 in [0, 1, 0x2F, 0x7F, 0x80, 0xFF] {
                var damaged = bytes
                damaged[offset] = value
                // Whatever it says, it says it without trapping, and a good checksum means the same record.
                _ = try? RecordSamples.read(damaged, key: nil, id: record.id)
                let key = Array(record.id.utf8)
                if let read = try? RecordSamples.read(damaged, key: key, id: record.id) {
                    #expect(read == record, "offset \(offset)")
                }
            }
        }
    }

    @Test("Rubbish does not make the reader trap, nor the writer", arguments: samples)
    func rubbish(record: Record) {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<testRounds(3_000) {
            // Mutations of a good record get further than noise.
            var bytes = RecordEncoder.bytes(record)
            let start = Bool.random(using: &generator) ? 0 : RecordView.headerByteCount
            for _ in 0...Int.random(in: 0..<8, using: &generator) {
                let offset = Int.random(in: start..<bytes.count, using: &generator)
                bytes[offset] = UInt8.random(in: 0...255, using: &generator)
            }
            if let read = try? RecordSamples.read(bytes, key: nil, id: record.id) {
                _ = RecordEncoder.bytes(read)
            }
        }
    }

    @Test("A record of another version, or with a flag that is not known, is refused")
    func unknownVersion() throws {
        for (offset, value) in [(0, UInt8(2)), (0, 0), (1, 1), (1, 0x80)] {
            var bytes = RecordEncoder.bytes(RecordSamples.parts)
            bytes[offset] = value
            Self.seal(&bytes, id: "42")
            #expect(throws: StoreError.self, "byte \(offset) is \(value)") {
                try RecordSamples.read(bytes, key: Array("42".utf8), id: "42")
            }
        }
    }

    @Test("A field that is damaged under a right checksum is refused")
    func refused() throws {
        func long(_ count: Int) -> [UInt8] { [UInt8](repeating: 65, count: count) }
        let texts: [(TextField, [[UInt8]])] = [
            (.category, [[], long(65)]), (.group, [[], long(129)]), (.device, [[], long(65)]),
            (.targetHost, [[], long(256)]),
        ]
        let others: [(RecordField, [[UInt8]])] = [
            (
                .state,
                [
                    [2, 0, 0, 0, 0, 0, 0, 0], [0, 4, 0, 0, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0, 0, 0],
                    [1],
                ]
            ),
            (.actions, [[0, 1, 0], [0, 0, 0, 0], [8, 1, 0, 0, 65], [0, 1, 1, 0, 65]]),
            (.data, [[], [UInt8](repeating: 0x30, count: 16_385)]),
            (
                .responses,
                [
                    [], [UInt8](repeating: 0, count: 20),
                    [UInt8](repeating: 0, count: 18) + [1, 0],
                ]
            ),
            (
                .platforms,
                [
                    [], [0], [1], [1, 65, 2, 65], [33] + long(33),
                    Array([[UInt8]](repeating: [1, 65], count: 17).joined()),
                ]
            ),
            (.categoryRevision, [[1, 0, 0, 0, 0, 0, 0, 0]]),
        ]
        var wrong = texts.map { ($0.0.rawValue, $0.1) } + others.map { ($0.0.rawValue, $0.1) }
        wrong.append(
            (
                RecordField.sequenceTag,
                [[0, 0, 0, 0, 0, 0, 0, 0], [14, 0, 0, 0, 0, 0, 0, 0], [1]]
            ))
        // Fields that nobody knows.
        wrong += [17, 0x7000, 0x8001].map { ($0, [[1, 2, 3]]) }
        for (tag, values) in wrong {
            for value in values {
                #expect(throws: StoreError.self, "\(tag): \(value.prefix(30))") {
                    _ = try Self.readSealed([(tag, value)])
                }
            }
        }
        // Those that are right, so that what is sealed above is refused for what it says. In their order, and once.
        let (category, group): ((UInt16, [UInt8]), (UInt16, [UInt8])) = ((4, [65]), (5, [65]))
        let right = try Self.readSealed([category, group])
        #expect(right.details.category == "A" && right.details.group == "A")
        for fields in [[group, category], [category, category]] {
            #expect(throws: StoreError.self) { _ = try Self.readSealed(fields) }
        }
    }

    /// Reads a record of revision 13 with these fields, and a right checksum.
    private static func readSealed(_ fields: [(tag: UInt16, value: [UInt8])]) throws -> Record {
        let record = Record(
            id: "43", createdAt: noon, expiresAt: Golden.expiry, revision: 13, parts: [])
        var bytes = RecordEncoder.bytes(record)
        for (tag, value) in fields {
            bytes.append(littleEndian: tag)
            bytes.append(littleEndian: UInt16(0))
            bytes.append(littleEndian: UInt32(value.count))
            bytes += value
        }
        seal(&bytes, id: "43")
        return try RecordSamples.read(bytes, key: Array("43".utf8), id: "43")
    }

    /// Gives a record its length and its checksum.
    private static func seal(_ bytes: inout [UInt8], id: String) {
        let byteCount = UInt32(bytes.count)
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        target.store(byteCount, at: 32)
        let key = Array(id.utf8)
        let checksum = RecordView.checksum(id: key.span.bytes, record: target.bytes)
        target.store(checksum, at: RecordView.checksumOffset)
    }
}
