import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// The bytes of the index and of `meta` that `docs/FORMAT.md` prints.
@Suite struct IndexFormatTests {
    static let owner = "anna"
    static let end = noon.adding(seconds: 30 * 86_400)
    static let holdEnd = noon.adding(seconds: 7_200)

    static let sequenceKey = FormatDocument.bytes("Sequence entry", "key")
    static let liveEntry = FormatDocument.bytes("Sequence entry", "value")

    static let tombstoneKey = FormatDocument.bytes("Sequence entry", "key", 1)
    static let tombstone = FormatDocument.bytes("Sequence entry", "value", 1)

    /// The same of an app's notification.
    static let tombstoneOfApp = FormatDocument.bytes("Sequence entry", "value", 2)

    static let groupKey = FormatDocument.bytes("Owners")

    static let finderKey = FormatDocument.bytes("Tombstone index entry", "key")
    static let finderKeyOfApp = FormatDocument.bytes("Tombstone index entry", "key", 1)
    static let finder = FormatDocument.bytes("Tombstone index entry", "value")

    static let markKey = FormatDocument.bytes("Purge marker", "key")
    static let mark = FormatDocument.bytes("Purge marker", "value")

    static let usageKey = FormatDocument.bytes("Usage", "key")
    static let usage = FormatDocument.bytes("Usage", "value")

    static let quarantineKey = FormatDocument.bytes("Quarantine", "key")
    static let quarantine = FormatDocument.bytes("Quarantine", "value")

    static let scrubMark = FormatDocument.bytes("Scrub mark")

    static let categoryKey = FormatDocument.bytes("Categories", "key")
    static let category = FormatDocument.bytes("Categories", "value")
    static let lineKey = FormatDocument.bytes("Sequence entry", "key", 2)
    static let line = FormatDocument.bytes("Sequence entry", "value", 3)

    @Test("What an owner has")
    func ownerUsage() throws {
        var value = OwnerUsage()
        value.add(1_000)
        value.add(5)
        let key = Self.usageKey
        let words = value.words(key: key.span.bytes)
        let bytes = words.span.bytes.array()
        #expect(bytes == Self.usage)
        #expect(try OwnerUsage(Self.usage.span.bytes, key: key.span.bytes) == value)
        for bit in 0..<20 * 8 {
            #expect(throws: StoreError.self, "bit \(bit)") {
                _ = try OwnerUsage(Self.usage.flipping(bit: bit).span.bytes, key: key.span.bytes)
            }
        }
        #expect(throws: StoreError.self) {
            _ = try OwnerUsage(Self.usage.span.bytes, key: Self.markKey.span.bytes)
        }
    }

    @Test("A damaged blob")
    func quarantineEntry() throws {
        let blob = BlobReference(
            digest: GoldenBytesTests.digest, number: 7, byteCount: 5, storedByteCount: 5,
            coding: .identity)
        let entry = QuarantineEntry(blob, referenceCount: 3, foundAt: noon)
        let key = IndexKeys.quarantine(7)
        #expect(key == Self.quarantineKey)
        #expect(entry.bytes(key: key) == Self.quarantine)
        #expect(try QuarantineEntry(Self.quarantine.span.bytes, key: key.span.bytes) == entry)
        for bit in 0..<Self.quarantine.count * 8 {
            #expect(throws: StoreError.self, "bit \(bit)") {
                _ = try QuarantineEntry(
                    Self.quarantine.flipping(bit: bit).span.bytes, key: key.span.bytes)
            }
        }
        #expect(throws: StoreError.self) {
            _ = try QuarantineEntry(
                Self.quarantine.span.bytes, key: IndexKeys.quarantine(8).span.bytes)
        }
    }

    @Test("How far the store was read again")
    func scrubMarkValue() throws {
        var mark = ScrubMark()
        mark.beganAt = noon
        mark.endedAt = noon.adding(seconds: -1_000)
        mark.byteCount = 4_096
        mark.phase = .blobs
        mark.key = GoldenBytesTests.digest.rawWords.span.bytes.array()
        #expect(mark.value == Self.scrubMark)
        #expect(try ScrubMark(Self.scrubMark.span.bytes) == mark)
        for bit in 0..<Self.scrubMark.count * 8 {
            #expect(throws: StoreError.self, "bit \(bit)") {
                _ = try ScrubMark(Self.scrubMark.flipping(bit: bit).span.bytes)
            }
        }
        let empty = try ScrubMark(ScrubMark().value.span.bytes)
        #expect(empty == ScrubMark())
    }

    @Test("The keys of an owner, and what they say")
    func ownerKeys() throws {
        #expect(IndexKeys.sequence(Self.owner, 12) == Self.sequenceKey)
        #expect(IndexKeys.sequence(Self.owner, 13) == Self.tombstoneKey)
        #expect(IndexKeys.group(Self.owner, "news", 12) == Self.groupKey)
        #expect(IndexKeys.finder(Self.owner, id: "41") == Self.finderKey)
        #expect(IndexKeys.finder(Self.owner, id: "41", app: "mail") == Self.finderKeyOfApp)
        #expect(IndexKeys.mark(Self.owner) == Self.markKey)
        let sequence = try OwnerKey(Self.sequenceKey.span.bytes)
        #expect(sequence == .sequence(owner: Self.owner, revision: 12))
        let group = try OwnerKey(Self.groupKey.span.bytes)
        #expect(group == .group(owner: Self.owner, group: "news", sequence: 12))
        let finder = try OwnerKey(Self.finderKey.span.bytes)
        #expect(finder == .finder(owner: Self.owner, hash: IndexKeys.finderHash("41")))
        let mark = try OwnerKey(Self.markKey.span.bytes)
        #expect(mark == .mark(owner: Self.owner))
        #expect(IndexKeys.usage(Self.owner) == Self.usageKey)
        let usage = try OwnerKey(Self.usageKey.span.bytes)
        #expect(usage == .usage(owner: Self.owner))
        for key in [Self.sequenceKey, Self.groupKey, Self.finderKey] {
            for count in 0..<key.count {
                let short = Array(key.prefix(count))
                #expect(throws: StoreError.self, "\(short)") { _ = try OwnerKey(short.span.bytes) }
            }
        }
        // No other owner's keys are among them, and none is a time.
        for other in ["", "ann", "anna ", "annab", "\u{e9}"] {
            let keys = [
                IndexKeys.sequence(other, 12), IndexKeys.group(other, "news", 12),
                IndexKeys.finder(other, id: "41"), IndexKeys.mark(other),
                IndexKeys.usage(other),
            ]
            let prefix = Self.sequenceKey.prefix(6)
            for key in keys {
                #expect(!key.starts(with: prefix), "\(other)")
                let time = try TimeEntry(key.span.bytes)
                #expect(time == nil)
            }
        }
        let longest = IndexKeys.group(
            String(repeating: "o", count: 255), String(repeating: "g", count: 128), .max)
        #expect(longest.count == 395)
    }

    @Test("The keys of times, and what they say")
    func timeKeys() throws {
        let tombstone = IndexKeys.tombstoneEnd(Self.end, Self.owner, 13)
        #expect(
            tombstone
                == FormatDocument.bytes("Times", "", 1))
        let hold = IndexKeys.holdEnd(Self.holdEnd, GoldenBytesTests.digest)
        #expect(
            hold
                == FormatDocument.bytes("Times", "", 2))
        let mark = IndexKeys.markEnd(Self.end, Self.owner)
        #expect(
            mark
                == FormatDocument.bytes("Times", "", 3))
        let read = try [tombstone, hold, mark, Keys.expiry(noon, "42")].map {
            try TimeEntry($0.span.bytes)
        }
        #expect(
            read == [
                .tombstone(Self.end, owner: Self.owner, revision: 13),
                .hold(Self.holdEnd, GoldenBytesTests.digest), .mark(Self.end, owner: Self.owner),
                .notification(noon, id: "42"),
            ])
        for count in 0..<hold.count {
            let short = Array(hold.prefix(count))
            #expect(throws: StoreError.self, "\(count) bytes") {
                _ = try TimeEntry(short.span.bytes)
            }
        }
        for kind: UInt8 in [0, 4, 255] {
            var other = tombstone
            other[9] = kind
            #expect(throws: StoreError.self, "kind \(kind)") { _ = try TimeEntry(other.span.bytes) }
        }
    }

    @Test("A place in history and feed, and that every bit of it and its key is covered")
    func liveEntryRecord() throws {
        let entry = SequenceEntry([.history, .feed], id: "42")
        #expect(entry.bytes(key: Self.sequenceKey) == Self.liveEntry)
        try Self.expectCovered(Self.sequenceKey, Self.liveEntry, says: entry) { key, value in
            try SequenceEntry(value.span.bytes, key: key.span.bytes)
        }
    }

    @Test("A tombstone, and that every bit of it and its key is covered")
    func tombstoneRecord() throws {
        let entry = SequenceEntry(.deleted, id: "41", device: "phone", end: Self.end)
        #expect(entry.bytes(key: Self.tombstoneKey) == Self.tombstone)
        try Self.expectCovered(Self.tombstoneKey, Self.tombstone, says: entry) { key, value in
            try SequenceEntry(value.span.bytes, key: key.span.bytes)
        }
    }

    @Test("A tombstone of an app's notification, and that every bit of it is covered")
    func tombstoneOfAnApp() throws {
        let entry = SequenceEntry(
            .deleted, id: "41", device: "phone", end: Self.end, app: "mail")
        #expect(entry.bytes(key: Self.tombstoneKey) == Self.tombstoneOfApp)
        try Self.expectCovered(Self.tombstoneKey, Self.tombstoneOfApp, says: entry) { key, value in
            try SequenceEntry(value.span.bytes, key: key.span.bytes)
        }
    }

    /// Sealed with a right checksum, as only a mistaken writer would leave it.
    @Test("An entry that contradicts itself is refused")
    func contradictions() {
        var entries = [
            SequenceEntry([], id: "42"), SequenceEntry([.feed, .init(rawValue: 4)], id: "42"),
            SequenceEntry(.feed, id: ""), SequenceEntry(.feed, id: "42"),
            SequenceEntry(.feed, id: "42"),
            SequenceEntry(.expired, id: "42", device: nil, end: noon),
            SequenceEntry(.expired, id: "42", device: nil, end: noon),
            SequenceEntry(.feed, id: "42"),
            SequenceEntry(
                .expired, id: "42", device: nil, end: noon,
                app: String(repeating: "a", count: 65)),
        ]
        // A live one with a device, with an end, or with an app; a tombstone without an end, in the
        // history, or of an app with a name that is too long.
        entries[7].app = "mail"
        entries[3].device = "phone"
        entries[4].end = noon
        entries[5].end = nil
        entries[6].indexes = [.history, .feed]
        for entry in entries {
            let bytes = entry.bytes(key: Self.sequenceKey)
            #expect(throws: StoreError.self, "\(entry)") {
                _ = try SequenceEntry(bytes.span.bytes, key: Self.sequenceKey.span.bytes)
            }
        }
    }

    @Test("What finds a tombstone")
    func finderRecord() throws {
        let entry = TombstoneIndexEntry(revision: 13)
        #expect(entry.bytes(key: Self.finderKey) == Self.finder)
        try Self.expectCovered(Self.finderKey, Self.finder, unread: 4, says: entry) { key, value in
            try TombstoneIndexEntry(value.span.bytes, key: key.span.bytes)
        }
    }

    @Test("An account mark")
    func markRecord() throws {
        let entry = PurgeMarker(revision: 11, end: Self.end)
        #expect(entry.bytes(key: Self.markKey) == Self.mark)
        try Self.expectCovered(Self.markKey, Self.mark, unread: 4, says: entry) { key, value in
            try PurgeMarker(value.span.bytes, key: key.span.bytes)
        }
    }

    @Test("A line that tells of a category's edit, and what finds it")
    func categoryLine() throws {
        let entry = SequenceEntry(.category, id: "reply", device: nil, end: Self.end)
        #expect(IndexKeys.sequence(Self.owner, 14) == Self.lineKey)
        #expect(entry.bytes(key: Self.lineKey) == Self.line)
        let read = try SequenceEntry(Self.line.span.bytes, key: Self.lineKey.span.bytes)
        #expect(read == entry)
        #expect(
            entry.finderKey(Self.owner)
                == hex(
                    """
                    01 61 6e 6e 61 00 03 7d 64 a5 fe c6 c5 02 7b 6e
                    bd 2b e1 c2 2b 7c 24
                    """))
        #expect(entry.finderKey(Self.owner) != IndexKeys.finder(Self.owner, id: "reply"))
    }

    @Test("An edit of a category that owners are yet to be told of")
    func categoryEdit() throws {
        let key = FormatDocument.bytes("Edits of categories", "key")
        let bytes = FormatDocument.bytes("Edits of categories", "value")
        var edit = CategoryEditEntry(revision: 14)
        edit.lastID = Array("42".utf8)
        #expect(IndexKeys.categoryEdit("reply") == key)
        #expect(edit.bytes(key: key) == bytes)
        try Self.expectCovered(key, bytes, says: edit) { key, value in
            try CategoryEditEntry(value.span.bytes, key: key.span.bytes)
        }
        edit.lastID = [UInt8](repeating: 65, count: 256)
        let long = edit.bytes(key: key)
        #expect(throws: StoreError.self) {
            _ = try CategoryEditEntry(long.span.bytes, key: key.span.bytes)
        }
    }

    @Test("A category")
    func categoryRecord() throws {
        var value = Category(
            name: "reply",
            actions: [
                NotificationAction(identifier: "reply", title: "Reply"),
                NotificationAction(
                    identifier: "remove", title: "Remove", isDestructive: true,
                    requiresAuthentication: true),
            ], options: [.customDismissAction, .allowAnnouncement])
        value.revision = 14
        #expect(IndexKeys.category("reply") == Self.categoryKey)
        #expect(value.bytes(key: Self.categoryKey) == Self.category)
        try Self.expectCovered(Self.categoryKey, Self.category, says: value) { key, value in
            try Category(value.span.bytes, key: key.span.bytes)
        }
        var unknown = value
        unknown.options = CategoryOptions(rawValue: 32)
        let unknownBytes = unknown.bytes(key: Self.categoryKey)
        #expect(throws: StoreError.self) {
            _ = try Category(
                unknownBytes.span.bytes, key: Self.categoryKey.span.bytes)
        }
        let none = Category(name: "reply", actions: [])
        let bytes = none.bytes(key: Self.categoryKey)
        let empty = try Category(bytes.span.bytes, key: Self.categoryKey.span.bytes)
        #expect(empty == none)
    }

    @Test("A category of one app")
    func categoryOfApp() throws {
        let key = FormatDocument.bytes("Categories", "key", 1)
        let bytes = FormatDocument.bytes("Categories", "value", 1)
        var value = try Category(
            Self.category.span.bytes, key: Self.categoryKey.span.bytes)
        value.app = "mail"
        #expect(IndexKeys.category("reply", app: "mail") == key)
        #expect(value.bytes(key: key) == bytes)
        try Self.expectCovered(key, bytes, says: value) { key, value in
            try Category(value.span.bytes, key: key.span.bytes)
        }
        // Half a key, with a right checksum.
        for key in [hex("02 72 00"), hex("02 00 6d")] {
            let bytes = value.bytes(key: key)
            #expect(throws: StoreError.self) {
                _ = try Category(bytes.span.bytes, key: key.span.bytes)
            }
        }
    }

    /// The value is read as what it says. Every bit of `key`, and of `value` but for its `unread`
    /// last bytes, is refused when it is the other way round; so is any other length.
    private static func expectCovered<Entry: Equatable>(
        _ key: [UInt8], _ value: [UInt8], unread: Int = 0, says entry: Entry,
        _ read: ([UInt8], [UInt8]) throws -> Entry
    ) throws {
        #expect(try read(key, value) == entry)
        for bit in 0..<key.count * 8 {
            #expect(throws: StoreError.self, "bit \(bit) of the key") {
                _ = try read(key.flipping(bit: bit), value)
            }
        }
        for bit in 0..<(value.count - unread) * 8 {
            #expect(throws: StoreError.self, "bit \(bit)") {
                _ = try read(key, value.flipping(bit: bit))
            }
        }
        for count in 0..<value.count {
            #expect(throws: StoreError.self, "\(count) bytes") {
                _ = try read(key, Array(value.prefix(count)))
            }
        }
        #expect(throws: StoreError.self) { _ = try read(key, value + [0]) }
    }
}
