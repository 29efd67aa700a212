import BlobJSON
import Bytes
import Notifications
import TestSupport
import Testing

@testable import BlobStore

/// The fields of a record that say more than its owner and its texts.
@Suite struct RecordFieldsTests {
    /// As `docs/FORMAT.md` prints it.
    static let bytes = FormatDocument.bytes("Record", "", 1)

    /// What ``bytes`` says: id `43`, without parts.
    static var record: Record {
        var details = NotificationDetails()
        details.title = "News"
        details.app = "mail"
        details.category = "reply"
        details.categoryRevision = 11
        details.group = "news"
        details.platforms = ["ios", "web"]
        details.targetHost = "example.com"
        details.isRead = true
        details.actionState = .activated
        details.priority = .low
        details.displayTTLSeconds = 60
        details.actions = [
            NotificationAction(identifier: "open", title: "Open", isForeground: true)
        ]
        details.data = JSONFragment(checked: Array(#"{"n":1}"#.utf8))
        details.device = "phone"
        details.sequence = 12
        details.responses = [
            RecordedResponse(
                action: "reply", key: "k1", device: "phone", at: noon.adding(seconds: 60),
                revision: 13, staysOnScreen: false)
        ]
        var record = Record(
            id: "43", owner: "anna", message: "Hi", createdAt: noon,
            expiresAt: GoldenBytesTests.expiry, revision: 13, parts: [])
        record.details = details
        return record
    }

    private static func read(_ bytes: [UInt8], id: String, checking: Bool = true) throws -> Record {
        let view = try RecordView(bytes.span.bytes)
        let key = Array(id.utf8)
        if checking { try view.check(id: key.span.bytes) }
        return try view.record(id: id)
    }

    @Test("Every field has its bytes")
    func golden() throws {
        #expect(RecordEncoder.bytes(Self.record) == Self.bytes)
        let read = try Self.read(Self.bytes, id: "43")
        #expect(read == Self.record)
        #expect(read.sequence == 12)
        for bit in 0..<Self.bytes.count * 8 {
            #expect(throws: StoreError.self, "bit \(bit)") {
                _ = try Self.read(Self.bytes.flipping(bit: bit), id: "43")
            }
        }
    }

    @Test("Details that say nothing have no bytes")
    func empty() throws {
        var record = GoldenBytesTests.recordValue
        record.details = NotificationDetails()
        #expect(RecordEncoder.bytes(record) == GoldenBytesTests.record)
        // A place in the history that is the record's own revision says nothing, either.
        record.details.sequence = record.revision
        #expect(RecordEncoder.bytes(record) == GoldenBytesTests.record)
        let read = try Self.read(GoldenBytesTests.record, id: "42")
        #expect(read.details == NotificationDetails())
        #expect(read.sequence == read.revision)
    }

    @Test("No actions of its own and none at all are two things")
    func noActions() throws {
        var record = GoldenBytesTests.recordValue
        record.details.actions = []
        #expect(try Self.read(RecordEncoder.bytes(record), id: "42").details.actions == [])
    }

    @Test("Whatever is written is read again", arguments: [UInt64(1), 2, 3])
    func roundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for index in 0..<400 {
            var record = Self.record
            record.revision = .random(in: 1...StoreLimits.counterMax, using: &generator)
            record.details = Self.details(&generator, revision: record.revision)
            let bytes = RecordEncoder.bytes(record)
            let read = try Self.read(bytes, id: "43")
            var expected = record
            // Written only where it says something.
            if record.details.sequence == record.revision { expected.details.sequence = 0 }
            #expect(read == expected, "seed \(seed), record \(index)")
            #expect(RecordEncoder.bytes(read) == bytes, "seed \(seed), record \(index)")
        }
    }

    @Test("Rubbish in the fields does not make the reader trap", arguments: [UInt64(1), 2, 3])
    func rubbish(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<4_000 {
            var bytes = Self.bytes
            for _ in 0...Int.random(in: 0..<6, using: &generator) {
                let offset = Int.random(
                    in: RecordView.headerByteCount..<bytes.count, using: &generator)
                bytes[offset] = UInt8.random(in: 0...255, using: &generator)
            }
            // Whatever it says, it says it without trapping, and what it makes of it is written
            // without trapping as well.
            if let record = try? Self.read(bytes, id: "43", checking: false) {
                _ = RecordEncoder.bytes(record)
            }
        }
    }

    @Test("A field that is damaged under a right checksum is refused")
    func refused() throws {
        let texts: [(TextField, [UInt8])] = [
            (.category, []), (.category, [UInt8](repeating: 65, count: 65)), (.group, []),
            (.group, [UInt8](repeating: 65, count: 129)), (.device, []),
            (.device, [UInt8](repeating: 65, count: 65)), (.targetHost, []),
            (.targetHost, [UInt8](repeating: 65, count: 256)),
        ]
        let others: [(RecordField, [UInt8])] = [
            (.state, [2, 0, 0, 0, 0, 0, 0, 0]),
            (.state, [0, 4, 0, 0, 0, 0, 0, 0]), (.state, [0, 0, 2, 0, 0, 0, 0, 0]), (.state, [1]),
            (.actions, [0, 1, 0]), (.actions, [0, 0, 0, 0]), (.actions, [8, 1, 0, 0, 65]),
            (.actions, [0, 1, 1, 0, 65]), (.data, []),
            (.data, [UInt8](repeating: 0x30, count: 16_385)),
            (.sequence, [0, 0, 0, 0, 0, 0, 0, 0]),
            (.sequence, [14, 0, 0, 0, 0, 0, 0, 0]), (.sequence, [1]), (.responses, []),
            (.responses, [UInt8](repeating: 0, count: 20)),
            (.responses, [UInt8](repeating: 0, count: 18) + [1, 0]),
            (.platforms, []), (.platforms, [0]), (.platforms, [1]), (.platforms, [1, 65, 2, 65]),
            (.platforms, [33] + [UInt8](repeating: 65, count: 33)),
            (.platforms, Array([[UInt8]](repeating: [1, 65], count: 17).joined())),
            (.categoryRevision, [1, 0, 0, 0, 0, 0, 0, 0]),
        ]
        let wrong =
            texts.map { ($0.0.rawValue, $0.1) } + others.map { ($0.0.rawValue, $0.1) }
        for (tag, value) in wrong {
            let bytes = Self.sealed(field: tag, value)
            #expect(throws: StoreError.self, "\(tag): \(value.prefix(30))") {
                _ = try Self.read(bytes, id: "43")
            }
        }
        // One that is right, so that what is sealed above is refused for what it says.
        let right = try Self.read(Self.sealed(field: 4, Array("reply".utf8)), id: "43")
        #expect(right.details.category == "reply")
    }

    @Test("Fields out of their order, or twice, are refused")
    func order() throws {
        let category: [UInt8] = [4, 0, 0, 0, 1, 0, 0, 0, 65]
        let group: [UInt8] = [5, 0, 0, 0, 1, 0, 0, 0, 65]
        _ = try Self.read(Self.sealed(fields: category + group), id: "43")
        for fields in [group + category, category + category] {
            #expect(throws: StoreError.self) {
                _ = try Self.read(Self.sealed(fields: fields), id: "43")
            }
        }
    }

    /// A record of revision 13 with one field, and a right checksum.
    private static func sealed(field: UInt16, _ value: [UInt8]) -> [UInt8] {
        var fields: [UInt8] = []
        fields.append(littleEndian: field)
        fields.append(littleEndian: UInt16(0))
        fields.append(littleEndian: UInt32(value.count))
        return sealed(fields: fields + value)
    }

    private static func sealed(fields: [UInt8]) -> [UInt8] {
        let record = Record(
            id: "43", createdAt: noon, expiresAt: GoldenBytesTests.expiry, revision: 13, parts: [])
        var bytes = RecordEncoder.bytes(record) + fields
        let byteCount = UInt32(bytes.count)
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        target.store(byteCount, at: 32)
        let id = Array("43".utf8)
        let checksum = RecordView.checksum(id: id.span.bytes, record: target.bytes)
        target.store(checksum, at: RecordView.checksumOffset)
        return bytes
    }

    private static func details(
        _ generator: inout SeededGenerator, revision: UInt64
    ) -> NotificationDetails {
        func text(_ byteCountMax: Int, from least: Int = 1) -> String {
            let count = Int.random(in: least...byteCountMax, using: &generator)
            return String(
                decoding: (0..<count).map { _ in UInt8.random(in: 32...126, using: &generator) },
                as: UTF8.self)
        }
        func maybe<Value>(_ make: () -> Value) -> Value? {
            Bool.random(using: &generator) ? make() : nil
        }
        var details = NotificationDetails()
        details.category = maybe { text(StoreLimits.categoryByteCountMax) }
        if details.category != nil, revision > 1 {
            details.categoryRevision = .random(in: 0..<revision, using: &generator)
        }
        details.group = maybe { text(StoreLimits.groupByteCountMax) }
        details.platforms =
            (0..<Int.random(in: 0...StoreLimits.platformCountMax, using: &generator))
            .map { _ in text(StoreLimits.platformByteCountMax) }
        details.targetHost = maybe { text(StoreLimits.targetHostByteCountMax) }
        details.actions = maybe {
            (0..<Int.random(in: 0...StoreLimits.actionCountMax, using: &generator)).map { _ in
                NotificationAction(
                    identifier: text(StoreLimits.actionIdentifierByteCountMax),
                    title: text(StoreLimits.actionTitleByteCountMax, from: 0),
                    isForeground: .random(using: &generator),
                    isDestructive: .random(using: &generator),
                    requiresAuthentication: .random(using: &generator))
            }
        }
        details.priority = .random(using: &generator) ? .high : .low
        details.displayTTLSeconds = .random(in: 0...1, using: &generator)
        details.data = maybe { JSONFragment(checked: Array(text(600).utf8)) }
        details.isRead = .random(using: &generator)
        details.actionState = ActionState.allCases.randomElement(using: &generator) ?? .none
        details.device = maybe { text(StoreLimits.deviceByteCountMax) }
        details.sequence = maybe { .random(in: 1...revision, using: &generator) } ?? 0
        if Bool.random(using: &generator) { details.sequence = revision }
        details.responses =
            (0..<Int.random(in: 0...StoreLimits.responseCountMax, using: &generator))
            .map { _ in
                let answer = maybe {
                    ContentExtensionAnswer.allCases.randomElement(using: &generator)
                }.flatMap { $0 }
                return RecordedResponse(
                    action: text(64), key: maybe { text(64) }, device: maybe { text(64) },
                    at: Timestamp(milliseconds: .random(in: 0 ... .max, using: &generator)),
                    revision: generator.next(),
                    staysOnScreen: answer.map { $0 == .doNotDismiss }
                        ?? .random(using: &generator),
                    contentExtension: answer)
            }
        return details
    }
}
