import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// What the store writes of one kind: the value, and the bytes that it has.
struct FormatKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let key: [UInt8]
    let bytes: [UInt8]
    /// Bytes at the end that mean nothing.
    let unread: Int
    /// Whether a later version may append to it.
    let mayBeLonger: Bool
    /// What the store writes for the value.
    let written: @Sendable () -> [UInt8]
    /// Whether a key and bytes are read as the value. Throws when they are refused.
    let isRead: @Sendable (_ key: [UInt8], _ bytes: [UInt8]) throws -> Bool

    /// - Parameters:
    ///   - key: covered by the value's checksum; empty for a kind that has only one entry.
    ///   - bytes: as the document prints them; nil for a kind that it does not print.
    init<Value: Equatable & Sendable>(
        _ name: String, _ value: Value, key: [UInt8] = [], is bytes: [UInt8]?, unread: Int = 0,
        mayBeLonger: Bool = false, write: @escaping @Sendable (Value, [UInt8]) -> [UInt8],
        read: @escaping @Sendable ([UInt8], [UInt8]) throws -> Value
    ) {
        testDescription = name
        self.key = key
        self.bytes = bytes ?? write(value, key)
        self.unread = unread
        self.mayBeLonger = mayBeLonger
        written = { write(value, key) }
        isRead = { try read($0, $1) == value }
    }
}

/// Values that several kinds have.
enum Golden {
    static let digest = Digest(
        "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")!
    static let digestBytes = digest.rawWords.span.bytes.array()
    static let blob = BlobReference(
        digest: digest, number: 7, byteCount: 5, storedByteCount: 5, coding: .identity)
    static let expiry = noon.adding(seconds: 3_600)
    /// Of a tombstone of today.
    static let end = noon.adding(seconds: 30 * 86_400)
    static let format = FormatDocument.bytes("Format record")
}

extension FormatKind {
    static let all = ofTheStore + ofBlobs + ofOwners + ofCategories + ofTheLog + ofRecords

    private struct Refused: Error {}

    private static func unwrap<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Refused() }
        return value
    }

    private static let ofTheStore = [
        FormatKind(
            "format record",
            FormatRecord(
                storeID: StoreID(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210),
                createdAt: noon), is: Golden.format, unread: 4, mayBeLonger: true,
            write: { value, _ in value.value }, read: { try FormatRecord($1.span.bytes) }),
        FormatKind(
            "counters", counters, is: FormatDocument.bytes("Counters"), unread: 4,
            write: { value, _ in value.value },
            read: { try Counters($1.span.bytes) }),
        FormatKind(
            "zero-copy mark",
            ZeroCopyMark(
                bootID: BootID("0b7d6d0c-7b9f-4c1e-9d2a-5d3f0f2f6a01")!, returnedTransaction: 41,
                transaction: 97, moment: 3_600_000), is: FormatDocument.bytes("Zero-copy mark"),
            unread: 4, write: { value, _ in value.value },
            read: { try ZeroCopyMark($1.span.bytes) }),
        FormatKind(
            "scrub mark", scrubMark, is: FormatDocument.bytes("Scrub mark"),
            write: { value, _ in value.value }, read: { try ScrubPosition($1.span.bytes) }),
        FormatKind(
            "replication state", replicationState,
            is: hex(
                """
                01 02 00 00 00 00 00 00 03 00 00 00 00 00 00 00
                04 00 00 00 00 00 00 00 2c f2 4d ba 5f b0 a3 0e
                26 e8 3b 2a c5 b9 e2 9e 1b 16 1e 5c 1f a7 42 5e
                73 04 33 62 93 8b 98 24 05 00 00 00 00 00 00 00
                08 07 06 05 04 03 02 01 18 17 16 15 14 13 12 11
                28 27 26 25 24 23 22 21 38 37 36 35 34 33 32 31
                5a 85 8e b2 00 00 00 00
                """), unread: 4, write: { value, _ in value.value },
            read: { try ReplicationState($1.span.bytes) }),
    ]

    private static var counters: Counters {
        var value = Counters()
        value.notifications = 1
        value.parts = 2
        value.blobs = 3
        value.bytes = 4
        value.bytesStored = 5
        value.bytesReferenced = 6
        value.orphanBlobs = 7
        value.orphanBytes = 8
        value.nextBlobNumber = 9
        value.nextNotificationNumber = 10
        value.revision = 11
        value.tombstones = 12
        value.heldBlobs = 13
        value.categories = 14
        value.horizon = 15
        return value
    }

    private static var scrubMark: ScrubPosition {
        var mark = ScrubPosition()
        mark.beganAt = noon
        mark.endedAt = noon.adding(seconds: -1_000)
        mark.byteCount = 4_096
        mark.phase = .blobs
        mark.key = Golden.digestBytes
        return mark
    }

    private static var replicationState: ReplicationState {
        var state = ReplicationState(
            role: .leader, epoch: 3,
            nonce: Nonce(high: 0x0102_0304_0506_0708, low: 0x1112_1314_1516_1718),
            position: LogPosition(number: 4, hash: Golden.digest), sequence: 5)
        state.add(Nonce(high: 0x2122_2324_2526_2728, low: 0x3132_3334_3536_3738))
        return state
    }

    // MARK: - Blobs

    private static let ofBlobs =
        [
            blob(
                "blob entry",
                BlobEntry(Golden.blob, referenceCount: 3, expiryBound: Golden.expiry), 0),
            blob(
                "blob entry with a hold",
                BlobEntry(
                    Golden.blob, referenceCount: 0, expiryBound: Golden.expiry,
                    heldUntil: noon.adding(seconds: 7_200)), 1),
            FormatKind(
                "quarantine", QuarantineEntry(Golden.blob, referenceCount: 3, foundAt: noon),
                key: FormatDocument.bytes("Quarantine", "key"),
                is: FormatDocument.bytes("Quarantine", "value"), write: { $0.bytes(key: $1) },
                read: { try QuarantineEntry($1.span.bytes, key: $0.span.bytes) }),
            // A damaged one would free the chunks of another blob, or free while someone reads.
            state(
                "orphan",
                BlobStateEntry(
                    digest: Golden.digest, transaction: 42, storedByteCount: 5, state: .released),
                FormatDocument.bytes("State of a blob", "value")),
            state("blob in the bucket", BlobStateEntry(inBucket: 5), nil),
            state(
                "damaged blob", BlobStateEntry(damaged: Golden.blob, foundAt: Golden.expiry), nil),
        ]

    private static func blob(_ name: String, _ value: BlobEntry, _ index: Int) -> FormatKind {
        FormatKind(
            name, value, key: Golden.digestBytes,
            is: FormatDocument.bytes("Blob entry", "value", index), unread: 4,
            write: { value, _ in value.words.span.bytes.array() },
            read: { key, bytes in
                try BlobEntry(bytes.span.bytes, digest: unwrap(Digest(bytes: key.span.bytes)))
            })
    }

    private static func state(
        _ name: String, _ value: BlobStateEntry, _ bytes: [UInt8]?
    ) -> FormatKind {
        FormatKind(
            name, value, key: hex("00 00 00 00 00 00 00 07"), is: bytes,
            write: { value, _ in value.words(number: 7).span.bytes.array() },
            read: { key, bytes in
                let number = UInt64(bigEndian: key.span.bytes.integer(0, as: UInt64.self))
                return try BlobStateEntry(bytes.span.bytes, number: number)
            })
    }

    // MARK: - The index

    private static let ofOwners =
        [
            sequence("live entry", SequenceEntry([.history, .feed], id: "42"), 0, 0),
            sequence(
                "tombstone",
                SequenceEntry(.deleted, id: "41", device: "phone", end: Golden.end), 1, 1),
            sequence(
                "tombstone of an app's notification",
                SequenceEntry(.deleted, id: "41", device: "phone", end: Golden.end, app: "mail"),
                1, 3),
            sequence(
                "line of a category's edit",
                SequenceEntry(.category, id: "reply", device: nil, end: Golden.end), 2, 2),
            FormatKind(
                "tombstone index entry", TombstoneIndexEntry(revision: 13),
                key: FormatDocument.bytes("Tombstone index entry", "key"),
                is: FormatDocument.bytes("Tombstone index entry", "value"), unread: 4,
                write: { $0.bytes(key: $1) },
                read: { try TombstoneIndexEntry($1.span.bytes, key: $0.span.bytes) }),
            FormatKind(
                "purge marker", PurgeMarker(revision: 11, end: Golden.end),
                key: FormatDocument.bytes("Purge marker", "key"),
                is: FormatDocument.bytes("Purge marker", "value"), unread: 4,
                write: { $0.bytes(key: $1) },
                read: { try PurgeMarker($1.span.bytes, key: $0.span.bytes) }),
            FormatKind(
                "usage", usage, key: FormatDocument.bytes("Usage", "key"),
                is: FormatDocument.bytes("Usage", "value"), unread: 4,
                write: { $0.bytes(key: $1) },
                read: { try OwnerUsage($1.span.bytes, key: $0.span.bytes) }),
        ]

    private static func sequence(
        _ name: String, _ value: SequenceEntry, _ key: Int, _ index: Int
    ) -> FormatKind {
        FormatKind(
            name, value, key: FormatDocument.bytes("Sequence entry", "key", key),
            is: FormatDocument.bytes("Sequence entry", "value", index),
            write: { $0.bytes(key: $1) },
            read: { try SequenceEntry($1.span.bytes, key: $0.span.bytes) })
    }

    private static var usage: OwnerUsage {
        var value = OwnerUsage()
        value.add(1_000)
        value.add(5)
        return value
    }

    private static let ofCategories =
        [
            category("category", nil, 0), category("category of an app", "mail", 1),
            FormatKind(
                "edit of a category", edit,
                key: FormatDocument.bytes("Edits of categories", "key"),
                is: FormatDocument.bytes("Edits of categories", "value"),
                write: { $0.bytes(key: $1) },
                read: { try CategoryEditEntry($1.span.bytes, key: $0.span.bytes) }),
        ]

    private static func category(_ name: String, _ app: String?, _ index: Int) -> FormatKind {
        var value = Category(
            name: "reply",
            actions: [
                NotificationAction(identifier: "reply", title: "Reply"),
                NotificationAction(
                    identifier: "remove", title: "Remove", isDestructive: true,
                    requiresAuthentication: true),
            ], options: [.customDismissAction, .allowAnnouncement], app: app)
        value.revision = 14
        return FormatKind(
            name, value, key: FormatDocument.bytes("Categories", "key", index),
            is: FormatDocument.bytes("Categories", "value", index),
            write: { $0.bytes(key: $1) },
            read: { try Category($1.span.bytes, key: $0.span.bytes) })
    }

    private static var edit: CategoryEditEntry {
        var edit = CategoryEditEntry(revision: 14)
        edit.lastID = Array("42".utf8)
        return edit
    }

    // MARK: - The log, and records

    private static let logID = Nonce(high: 0x0102_0304_0506_0708, low: 0x1112_1314_1516_1718)

    private static let ofTheLog = [
        FormatKind(
            "log state",
            LogState(id: logID, isInUse: true, first: LogFirst(0x2122_2324)),
            is: FormatDocument.bytes("Write-ahead log"), unread: 4,
            write: { value, _ in value.value },
            read: { try LogState($1.span.bytes) }),
        // A put of `k` and a delete of `key`. Zeros up to a page are behind it.
        FormatKind(
            "record of the log",
            LogRecord(
                logID: logID, transaction: 0x2122_2324, index: 0x31, operationCount: 2,
                operationByteCount: 21, recordCountBefore: 0x51, changeCount: 0x41),
            is: hex(
                """
                62 6c 6f 62 64 6c 6f 67 03 00 00 00 a8 24 b8 c5
                08 07 06 05 04 03 02 01 18 17 16 15 14 13 12 11
                24 23 22 21 00 00 00 00 31 00 00 00 02 00 00 00
                15 00 00 00 51 00 00 00 41 00 00 00 00 00 00 00
                01 00 01 00 01 00 00 00 6b 76
                02 05 03 00 00 00 00 00 6b 65 79
                """), mayBeLonger: true,
            write: { head, _ in
                var bytes = [UInt8](repeating: 0, count: LogRecord.byteCount)
                bytes += hex("01 00 01 00 01 00 00 00 6b 76 02 05 03 00 00 00 00 00 6b 65 79")
                var span = bytes.mutableSpan
                var target = span.mutableBytes
                head.write(into: &target)
                return bytes
            },
            read: { _, bytes in
                let head = try unwrap(LogRecord(bytes.span.bytes, byteCountMax: bytes.count))
                let end = LogRecord.byteCount + head.operationByteCount
                guard !head.isOfEarlierVersion,
                    LogRecord.isWhole(bytes.span.bytes.extracting(0..<end))
                else {
                    throw Refused()
                }
                return head
            }),
    ]

    private static let ofRecords =
        [RecordSamples.parts, RecordSamples.fields].enumerated().map { index, record in
            FormatKind(
                record.parts.isEmpty ? "record with all fields" : "record of two parts", record,
                key: Array(record.id.utf8), is: FormatDocument.bytes("Record", "", index),
                write: { value, _ in RecordEncoder.bytes(value) },
                read: { try RecordSamples.read($1, key: $0, id: record.id) })
        }
}
