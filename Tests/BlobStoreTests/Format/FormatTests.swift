import Bytes
import Notifications
import TestSupport
import Testing

@testable import BlobStore

/// The bytes that `docs/FORMAT.md` and ``FormatExamples`` print, kind by kind; see ``FormatKind``.
@Suite struct FormatTests {
    @Test("It is written and read as the document has it", arguments: FormatKind.all)
    func golden(kind: FormatKind) throws {
        #expect(kind.written() == kind.bytes)
        #expect(try kind.isRead(kind.key, kind.bytes))
    }

    @Test("Every bit of its key and of its bytes is covered", arguments: FormatKind.all)
    func covered(kind: FormatKind) {
        for bit in 0..<kind.key.count * 8 {
            #expect(throws: (any Error).self, "bit \(bit) of the key") {
                _ = try kind.isRead(kind.key.flipping(bit: bit), kind.bytes)
            }
        }
        for bit in 0..<(kind.bytes.count - kind.unread) * 8 {
            #expect(throws: (any Error).self, "bit \(bit)") {
                _ = try kind.isRead(kind.key, kind.bytes.flipping(bit: bit))
            }
        }
    }

    @Test("It has no other length", arguments: FormatKind.all)
    func lengths(kind: FormatKind) throws {
        for count in 0..<kind.bytes.count {
            #expect(throws: (any Error).self, "\(count) bytes") {
                _ = try kind.isRead(kind.key, Array(kind.bytes.prefix(count)))
            }
        }
        let longer = kind.bytes + [0]
        if kind.mayBeLonger {
            #expect(try kind.isRead(kind.key, longer))
        } else {
            #expect(throws: (any Error).self) { _ = try kind.isRead(kind.key, longer) }
        }
    }

    // MARK: - Keys

    @Test("The keys of an owner, and what they say")
    func ownerKeys() throws {
        let owner = "anna"
        let sequence = IndexKeys.sequence(owner, 12)
        let group = IndexKeys.group(owner, "news", 12)
        let finder = IndexKeys.finder(owner, id: "41")
        let category = SequenceEntry(.category, id: "reply", device: nil, end: Golden.end)
        for (key, printed, says) in [
            (sequence, ("Sequence entry", 0), .sequence(owner: owner, revision: 12)),
            (group, ("Owners", 0), .group(owner: owner, group: "news", sequence: 12)),
            (
                finder, ("Tombstone index entry", 0),
                .finder(owner: owner, hash: IndexKeys.finderHash("41"))
            ),
            (IndexKeys.mark(owner), ("Purge marker", 0), .mark(owner: owner)),
            (IndexKeys.usage(owner), ("Usage", 0), .usage(owner: owner)),
        ] as [([UInt8], (String, Int), OwnerKey)] {
            let label = printed.0 == "Owners" ? "" : "key"
            #expect(key == FormatDocument.bytes(printed.0, label, printed.1))
            #expect(try OwnerKey(key.span.bytes) == says)
        }
        #expect(
            IndexKeys.finder(owner, id: "41", app: "mail")
                == FormatDocument.bytes("Tombstone index entry", "key", 1))
        #expect(IndexKeys.sequence(owner, 13) == FormatDocument.bytes("Sequence entry", "key", 1))
        #expect(IndexKeys.sequence(owner, 14) == FormatDocument.bytes("Sequence entry", "key", 2))
        #expect(
            category.finderKey(owner)
                == hex(
                    """
                    01 61 6e 6e 61 00 03 7d 64 a5 fe c6 c5 02 7b 6e
                    bd 2b e1 c2 2b 7c 24
                    """))
        #expect(category.finderKey(owner) != IndexKeys.finder(owner, id: "reply"))
        for key in [sequence, group, finder] {
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
            for key in keys {
                #expect(!key.starts(with: sequence.prefix(6)), "\(other)")
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
        let hold = noon.adding(seconds: 7_200)
        let keys = [
            Keys.expiry(Golden.expiry, "42"),
            IndexKeys.tombstoneEnd(Golden.end, "anna", 13),
            IndexKeys.holdEnd(hold, Golden.digest), IndexKeys.markEnd(Golden.end, "anna"),
        ]
        #expect(keys == (0..<4).map { FormatDocument.bytes("Times", "", $0) })
        let read = try keys.map { try TimeEntry($0.span.bytes) }
        #expect(
            read == [
                .notification(Golden.expiry, id: "42"),
                .tombstone(Golden.end, owner: "anna", revision: 13),
                .hold(hold, Golden.digest), .mark(Golden.end, owner: "anna"),
            ])
        for count in 0..<keys[2].count {
            let short = Array(keys[2].prefix(count))
            #expect(throws: StoreError.self, "\(count) bytes") {
                _ = try TimeEntry(short.span.bytes)
            }
        }
        for kind: UInt8 in [0, 4, 255] {
            var other = keys[1]
            other[9] = kind
            #expect(throws: StoreError.self, "kind \(kind)") { _ = try TimeEntry(other.span.bytes) }
        }
    }

    @Test("The keys of blobs sort by number, and those of a state stand together")
    func blobKeys() {
        let chunk = Keys.chunk(0x0102_0304_0506_0708, 0x090a_0b0c).bytes.array()
        #expect(chunk == hex("01 02 03 04 05 06 07 08 09 0a 0b 0c"))
        #expect(Keys.state(7, .toBeFreed).span.bytes.array() == hex("00 00 00 00 00 00 00 07"))
        #expect(Keys.state(7, .inBucket).span.bytes.array() == hex("40 00 00 00 00 00 00 07"))
        #expect(Keys.state(7, .damaged).span.bytes.array() == hex("80 00 00 00 00 00 00 07"))
        #expect(IndexKeys.quarantine(7) == FormatDocument.bytes("Quarantine", "key"))
        for (index, app) in [nil, "mail"].enumerated() {
            let key = IndexKeys.category("reply", app: app)
            #expect(key == FormatDocument.bytes("Categories", "key", index))
        }
        #expect(
            IndexKeys.categoryEdit("reply") == FormatDocument.bytes("Edits of categories", "key"))
    }

    // MARK: - What is refused for what it says

    /// Sealed with a right checksum, as only a mistaken writer would leave it.
    @Test("An entry that contradicts itself is refused")
    func contradictions() {
        func changed(_ entry: SequenceEntry, _ change: (inout SequenceEntry) -> Void)
            -> SequenceEntry
        {
            var entry = entry
            change(&entry)
            return entry
        }
        let live = SequenceEntry(.feed, id: "42")
        let expired = SequenceEntry(.expired, id: "42", device: nil, end: noon)
        let entries = [
            SequenceEntry([], id: "42"), SequenceEntry([.feed, .init(rawValue: 4)], id: "42"),
            SequenceEntry(.feed, id: ""), changed(live) { $0.device = "phone" },
            changed(live) { $0.end = noon }, changed(live) { $0.app = "mail" },
            changed(expired) { $0.end = nil }, changed(expired) { $0.indexes = [.history, .feed] },
            changed(expired) { $0.app = String(repeating: "a", count: 65) },
        ]
        let key = IndexKeys.sequence("anna", 12)
        for entry in entries {
            let bytes = entry.bytes(key: key)
            #expect(throws: StoreError.self, "\(entry)") {
                _ = try SequenceEntry(bytes.span.bytes, key: key.span.bytes)
            }
        }
    }

    /// Reading byte 6 of 5 was a trap, and so was counting on behind the highest number.
    @Test("Two lengths without a coding, and numbers that cannot be counted on, are refused")
    func impossible() throws {
        for change: (inout Counters) -> Void in [
            { $0.revision = .max }, { $0.nextBlobNumber = .max - 1 },
        ] {
            var counters = Counters()
            change(&counters)
            let words = counters.value
            #expect(throws: StoreError.self) { _ = try Counters(words.span.bytes) }
        }
        var blob = Golden.blob
        blob.byteCount = 9
        var high = Golden.blob
        high.number = .max
        for entry in [
            BlobEntry(blob, referenceCount: 1, expiryBound: noon),
            BlobEntry(Golden.blob, referenceCount: .max, expiryBound: noon),
            BlobEntry(high, referenceCount: 1, expiryBound: noon),
        ] {
            let words = entry.words
            #expect(throws: StoreError.self) {
                _ = try BlobEntry(words.span.bytes, digest: Golden.digest)
            }
        }
        var record = RecordSamples.parts
        record.parts[0].blob = blob
        let bytes = RecordEncoder.bytes(record)
        #expect(throws: StoreError.self) {
            _ = try RecordSamples.read(bytes, key: Array("42".utf8), id: "42")
        }
    }

    @Test(
        "An unknown option of a category, half a key and a long id of an edit are refused")
    func categories() throws {
        var value = Category(name: "reply", actions: [])
        let key = IndexKeys.category("reply")
        let bytes = value.bytes(key: key)
        let empty = try Category(bytes.span.bytes, key: key.span.bytes)
        #expect(empty == value)
        for half in [hex("02 72 00"), hex("02 00 6d")] {
            let bytes = value.bytes(key: half)
            #expect(throws: StoreError.self) {
                _ = try Category(bytes.span.bytes, key: half.span.bytes)
            }
        }
        value.options = CategoryOptions(rawValue: 32)
        let unknown = value.bytes(key: key)
        #expect(throws: StoreError.self) {
            _ = try Category(unknown.span.bytes, key: key.span.bytes)
        }
        var edit = CategoryEditEntry(revision: 14)
        edit.lastID = [UInt8](repeating: 65, count: 256)
        let editKey = IndexKeys.categoryEdit("reply")
        let long = edit.bytes(key: editKey)
        #expect(throws: StoreError.self) {
            _ = try CategoryEditEntry(long.span.bytes, key: editKey.span.bytes)
        }
    }

    @Test("A chunk's checksum covers its key and its bytes")
    func chunk() throws {
        // The whole value: 5f bb 01 db, then "hello".
        let hello = Array("hello".utf8)
        let key = Keys.chunk(7, 0)
        let checksum = UInt32(littleEndian: Chunk.prefix(key.bytes, hello.span.bytes)[0])
        #expect(checksum == 0xdb01_bb5f)
        try Chunk.check(checksum, of: Golden.blob, at: 0, bytes: hello.span.bytes)
        for (checksum, index) in [(checksum, 1), (checksum ^ 1, 0)] {
            #expect(throws: StoreError.self) {
                try Chunk.check(checksum, of: Golden.blob, at: index, bytes: hello.span.bytes)
            }
        }
    }

    @Test("The names of tables, files and fields, and the sizes that stores are made of")
    func names() {
        #expect(
            Tables.names.map { "\($0)" } == [
                "notifications", "blobs", "chunks", "expiry", "orphans", "meta",
            ])
        #expect(
            [FormatRecord.name, Counters.name, DataFile.name, DirectoryLock.fileName] == [
                "format", "counters", "data.mdb", "blobd.lock",
            ])
        #expect(FormatRecord.version == 2 && FormatRecord.versions == 1...3)
        #expect(Counters().nextBlobNumber == 1)
        #expect(StoreLimits.chunkByteCountMax == 65_472)
        #expect(Coding.identity.rawValue == 0 && Coding.gzip.rawValue == 1)
        let texts: [TextField] = [
            .owner, .message, .richType, .category, .group, .device, .title, .app, .targetHost,
        ]
        #expect(texts.map(\.rawValue) == [1, 2, 3, 4, 5, 9, 12, 13, 15])
        let others: [RecordField] = [
            .state, .actions, .data, .responses, .platforms, .categoryRevision,
        ]
        #expect(others.map(\.rawValue) == [6, 7, 8, 11, 14, 16])
        #expect(RecordField.sequenceTag == 10)
        for text in [
            "0b7d6d0c-7b9f-4c1e-9d2a-5d3f0f2f6a0", "0b7d6d0c-7b9f-4c1e-9d2a-5d3f0f2f6a01f",
            "0b7d6d0c-7b9f-4c1e-9d2a-5d3f0f2f6a0x",
        ] {
            #expect(BootID(text) == nil, "\(text)")
        }
    }
}
