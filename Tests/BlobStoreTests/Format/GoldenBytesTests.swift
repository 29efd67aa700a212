import Bytes
import Notifications
import TestSupport
import Testing

@testable import BlobStore

/// The bytes of values and keys that `docs/FORMAT.md` prints.
@Suite struct GoldenBytesTests {
    static let digest = Digest(
        "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")!
    static let hello = Array("hello".utf8)
    static let expiry = noon.adding(seconds: 3_600)

    static let format = FormatDocument.bytes("Format record")

    static let counters = FormatDocument.bytes("Counters")

    static let blobEntry = FormatDocument.bytes("Blob entry", "value")

    /// The same, held and referred to by nothing.
    static let heldBlobEntry = FormatDocument.bytes("Blob entry", "value", 1)

    static let orphanEntry = FormatDocument.bytes("State of a blob", "value")

    static let zeroCopyMark = FormatDocument.bytes("Zero-copy mark")

    static let record = FormatDocument.bytes("Record")

    /// What ``record`` says.
    static let recordValue = Record(
        id: "42", owner: "anna", message: "Hi", richType: "img", createdAt: noon,
        expiresAt: expiry, revision: 12,
        parts: [
            Part(
                name: "payload", mediaType: "image/png",
                blob: BlobReference(
                    digest: digest, number: 7, byteCount: 5, storedByteCount: 5,
                    coding: .identity)),
            Part(
                name: "icon", mediaType: "text/plain",
                blob: BlobReference(
                    digest: Digest(bytes: [UInt8](0..<32).span.bytes)!, number: 9,
                    byteCount: 1_000, storedByteCount: 300, coding: .gzip)),
        ])

    /// Each flipped bit of the first bytes is found.
    private func expectFlipsRefused(
        _ bytes: [UInt8], byteCount: Int, _ read: ([UInt8]) throws -> Void
    ) {
        for bit in 0..<byteCount * 8 {
            #expect(throws: StoreError.self, "bit \(bit)") { try read(bytes.flipping(bit: bit)) }
        }
    }

    @Test("The format record")
    func formatRecord() {
        let value = FormatRecord(
            storeID: StoreID(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210),
            createdAt: noon)
        #expect(value.value == Self.format)
        let read = try? FormatRecord(Self.format.span.bytes)
        #expect(read == value)
        // A later version may append to it.
        let longer = try? FormatRecord((Self.format + [1, 2, 3]).span.bytes)
        #expect(longer == value)
        for bit in 0..<40 * 8 {
            let damaged = try? FormatRecord(Self.format.flipping(bit: bit).span.bytes)
            #expect(damaged == nil, "bit \(bit)")
        }
    }

    @Test("The counters")
    func countersRecord() throws {
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
        #expect(value.words.span.bytes.array() == Self.counters)
        let read = try Counters(Self.counters.span.bytes)
        #expect(read == value)
        expectFlipsRefused(Self.counters, byteCount: 124) {
            _ = try Counters($0.span.bytes)
        }
        for count in 0..<Self.counters.count {
            #expect(throws: StoreError.self, "\(count) bytes") {
                _ = try Counters(Array(Self.counters.prefix(count)).span.bytes)
            }
        }
    }

    @Test("A blob entry, and that it is bound to its key")
    func blobEntryRecord() throws {
        let reference = BlobReference(
            digest: Self.digest, number: 7, byteCount: 5, storedByteCount: 5, coding: .identity)
        let value = BlobEntry(reference, referenceCount: 3, expiryBound: Self.expiry)
        #expect(value.words.span.bytes.array() == Self.blobEntry)
        let read = try BlobEntry(Self.blobEntry.span.bytes, digest: Self.digest)
        #expect(read == value)
        #expect(read.blob == reference)
        expectFlipsRefused(Self.blobEntry, byteCount: 52) {
            _ = try BlobEntry($0.span.bytes, digest: Self.digest)
        }
        let other = Digest(bytes: [UInt8](0..<32).span.bytes)!
        #expect(throws: StoreError.self) {
            _ = try BlobEntry(Self.blobEntry.span.bytes, digest: other)
        }
    }

    @Test("A blob entry with a hold")
    func heldBlobEntryRecord() throws {
        let reference = BlobReference(
            digest: Self.digest, number: 7, byteCount: 5, storedByteCount: 5, coding: .identity)
        let value = BlobEntry(
            reference, referenceCount: 0, expiryBound: Self.expiry,
            heldUntil: noon.adding(seconds: 7_200))
        #expect(value.words.span.bytes.array() == Self.heldBlobEntry)
        let read = try BlobEntry(Self.heldBlobEntry.span.bytes, digest: Self.digest)
        #expect(read == value)
        expectFlipsRefused(Self.heldBlobEntry, byteCount: 52) {
            _ = try BlobEntry($0.span.bytes, digest: Self.digest)
        }
    }

    /// A damaged orphan entry would free the chunks of another blob, or free while someone reads:
    /// its checksum covers its key as well.
    @Test("An orphan entry, and that it is bound to its key")
    func orphanEntryRecord() throws {
        let value = BlobStateEntry(
            digest: Self.digest, transaction: 42, storedByteCount: 5, state: .released)
        #expect(value.words(number: 7).span.bytes.array() == Self.orphanEntry)
        let read = try BlobStateEntry(Self.orphanEntry.span.bytes, number: 7)
        #expect(read == value)
        expectFlipsRefused(Self.orphanEntry, byteCount: 56) {
            _ = try BlobStateEntry($0.span.bytes, number: 7)
        }
        #expect(throws: StoreError.self) {
            _ = try BlobStateEntry(Self.orphanEntry.span.bytes, number: 6)
        }
        // Another queue's key, and so another key.
        #expect(Keys.state(7, .inBucket).span.bytes.array() == hex("40 00 00 00 00 00 00 07"))
        #expect(Keys.state(7, .damaged).span.bytes.array() == hex("80 00 00 00 00 00 00 07"))
        let blob = BlobReference(
            digest: Self.digest, number: 7, byteCount: 5, storedByteCount: 5, coding: .identity)
        for entry in [
            BlobStateEntry(inBucket: 5), BlobStateEntry(damaged: blob, foundAt: Self.expiry),
        ] {
            let bytes = entry.words(number: 7).span.bytes.array()
            #expect(try BlobStateEntry(bytes.span.bytes, number: 7) == entry)
            expectFlipsRefused(bytes, byteCount: 56) {
                _ = try BlobStateEntry($0.span.bytes, number: 7)
            }
        }
    }

    @Test("The zero-copy mark")
    func lendingMarkRecord() throws {
        let bootID = try #require(BootID("0b7d6d0c-7b9f-4c1e-9d2a-5d3f0f2f6a01"))
        let mark = ZeroCopyMark(
            bootID: bootID, returnedTransaction: 41, transaction: 97, moment: 3_600_000)
        #expect(mark.value == Self.zeroCopyMark)
        let read = try ZeroCopyMark(Self.zeroCopyMark.span.bytes)
        #expect(read == mark)
        expectFlipsRefused(Self.zeroCopyMark, byteCount: 44) {
            _ = try ZeroCopyMark($0.span.bytes)
        }
        for count in 0..<Self.zeroCopyMark.count {
            #expect(throws: StoreError.self, "\(count) bytes") {
                _ = try ZeroCopyMark(Array(Self.zeroCopyMark.prefix(count)).span.bytes)
            }
        }
        #expect(BootID("0b7d6d0c-7b9f-4c1e-9d2a-5d3f0f2f6a0") == nil)
        #expect(BootID("0b7d6d0c-7b9f-4c1e-9d2a-5d3f0f2f6a01f") == nil)
        #expect(BootID("0b7d6d0c-7b9f-4c1e-9d2a-5d3f0f2f6a0x") == nil)
    }

    @Test("A record of two parts")
    func recordBytes() throws {
        #expect(RecordEncoder.bytes(Self.recordValue) == Self.record)
        let view = try RecordView(Self.record.span.bytes)
        try view.check(id: Array("42".utf8).span.bytes)
        let read = try view.record(id: "42")
        #expect(read == Self.recordValue)
    }

    @Test("The keys sort by number and by time")
    func keys() {
        let chunk = Keys.chunk(0x0102_0304_0506_0708, 0x090a_0b0c).bytes.array()
        #expect(chunk == hex("01 02 03 04 05 06 07 08 09 0a 0b 0c"))
        #expect(Keys.state(7, .toBeFreed).span.bytes.array() == hex("00 00 00 00 00 00 00 07"))
        #expect(Keys.expiry(Self.expiry, "42") == FormatDocument.bytes("Times"))
    }

    @Test("A chunk's checksum covers its key and its bytes")
    func chunk() throws {
        // The whole value: 5f bb 01 db, then "hello".
        let checksum = Chunk.checksum(
            number: 7, index: 0, bytes: Checksum(Self.hello.span.bytes), byteCount: 5)
        #expect(checksum == 0xdb01_bb5f)
        let blob = BlobReference(
            digest: Self.digest, number: 7, byteCount: 5, storedByteCount: 5, coding: .identity)
        try Chunk.check(checksum, of: blob, at: 0, bytes: Self.hello.span.bytes)
        #expect(throws: StoreError.self) {
            try Chunk.check(checksum, of: blob, at: 1, bytes: Self.hello.span.bytes)
        }
        #expect(throws: StoreError.self) {
            try Chunk.check(checksum ^ 1, of: blob, at: 0, bytes: Self.hello.span.bytes)
        }
    }

    @Test("The names of tables, files and fields, and the sizes that stores are made of")
    func names() {
        #expect(
            Tables.names.map { "\($0)" } == [
                "notifications", "blobs", "chunks", "expiry", "orphans", "meta",
            ])
        #expect(FormatRecord.name == "format")
        #expect(Counters.name == "counters")
        #expect(DataFile.name == "data.mdb")
        #expect(DirectoryLock.fileName == "blobd.lock")
        #expect(FormatRecord.version == 2)
        #expect(FormatRecord.versions == 1...3)
        #expect(Counters().nextBlobNumber == 1)
        #expect(StoreLimits.chunkByteCountMax == 65_472)
        #expect(Coding.identity.rawValue == 0)
        #expect(Coding.gzip.rawValue == 1)
        #expect(TextField.owner.rawValue == 1)
        #expect(TextField.message.rawValue == 2)
        #expect(TextField.richType.rawValue == 3)
        #expect(TextField.category.rawValue == 4)
        #expect(TextField.group.rawValue == 5)
        #expect(RecordField.state.rawValue == 6)
        #expect(RecordField.actions.rawValue == 7)
        #expect(RecordField.data.rawValue == 8)
        #expect(TextField.device.rawValue == 9)
        #expect(RecordField.sequence.rawValue == 10)
        #expect(RecordField.responses.rawValue == 11)
        #expect(TextField.title.rawValue == 12)
        #expect(TextField.app.rawValue == 13)
        #expect(RecordField.platforms.rawValue == 14)
        #expect(TextField.targetHost.rawValue == 15)
        #expect(RecordField.categoryRevision.rawValue == 16)
    }
}
