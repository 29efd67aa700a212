internal import Bytes
internal import Notifications

/// A value of the table `notifications`, read in place. Header and part entries have fixed places, so that finding
/// a part reads a few words and compares one name. ``RecordEncoder`` writes it.
struct RecordView: ~Escapable {
    let bytes: RawSpan

    static let version: UInt8 = 1
    static let headerByteCount = 40
    static let partByteCount = 64
    /// The checksum covers what stands before it and what stands after it.
    static let checksumOffset = 4
    static let checkedFrom = 8

    /// Checks lengths, not the checksum: ``check(id:)`` does.
    @inline(__always)
    @_lifetime(copy bytes)
    init(_ bytes: RawSpan) throws(StoreError) {
        self.bytes = bytes
        guard bytes.byteCount >= Self.headerByteCount,
            // Version and flags at once: no flag is known yet, and one that is not known changes
            // what the rest means.
            bytes.integer(0, as: UInt16.self) == UInt16(Self.version),
            Int(bytes.integer(32, as: UInt32.self)) == bytes.byteCount
        else { throw .corrupt("a notification's record header") }
        let fixed = Self.headerByteCount + partCount * Self.partByteCount
        guard fixed <= fieldsOffset, fieldsOffset <= bytes.byteCount else {
            throw .corrupt("a notification's part count")
        }
    }

    var partCount: Int { Int(bytes.integer(2, as: UInt16.self)) }
    var checksum: UInt32 { bytes.integer(Self.checksumOffset) }
    var expiresAt: Timestamp { Timestamp(milliseconds: bytes.integer(8)) }
    var createdAt: Timestamp { Timestamp(milliseconds: bytes.integer(16)) }
    var revision: UInt64 { bytes.integer(24) }
    var fieldsOffset: Int { Int(bytes.integer(36, as: UInt32.self)) }

    /// Compares the checksum: CRC-32 of the id and of the record without its checksum.
    func check(id: RawSpan) throws(StoreError) {
        guard Self.checksum(id: id, record: bytes) == checksum else {
            throw .corrupt("the record of notification \(id.text()) does not match its checksum")
        }
    }

    static func checksum(id: RawSpan, record: RawSpan) -> UInt32 {
        var checksum = Checksum(id)
        checksum.update(record.extracting(0..<checksumOffset))
        checksum.update(record.extracting(checkedFrom..<record.byteCount))
        return checksum.value
    }

    /// The entry of part `index`, which is less than ``partCount``.
    @inline(__always)
    @_lifetime(copy self)
    func part(at index: Int) throws(StoreError) -> PartView {
        try PartView(
            record: bytes, at: Self.headerByteCount + index * Self.partByteCount)
    }

    /// The part of that name (empty: `payload`), or nil.
    @inline(__always)
    @_lifetime(copy self)
    func part(named name: RawSpan) throws(StoreError) -> PartView? {
        for index in 0..<partCount {
            let part = try part(at: index)
            if name.isEmpty ? part.isDefault : part.name.equals(name) { return part }
        }
        return nil
    }

    /// The bytes of a text; nil when there is none, or the fields are damaged before it.
    @_lifetime(copy self)
    func field(_ field: TextField) -> RawSpan? {
        var offset = fieldsOffset
        while bytes.byteCount - offset >= RecordField.headerByteCount {
            let tag = bytes.integer(offset, as: UInt16.self)
            let count = Int(bytes.integer(offset + 4, as: UInt32.self))
            offset += RecordField.headerByteCount
            guard count <= bytes.byteCount - offset, tag <= field.rawValue else { return nil }
            if tag == field.rawValue { return bytes.extracting(offset..<offset + count) }
            offset += count
        }
        return nil
    }

    func record(id: String) throws(StoreError) -> Record {
        let times = 0...StoreLimits.expiryMillisecondsMax
        guard partCount <= StoreLimits.partCountMax, revision <= StoreLimits.counterMax,
            times.contains(createdAt.milliseconds), times.contains(expiresAt.milliseconds)
        else { throw .corrupt("the header of notification \(id)") }
        var record = Record(
            id: id, createdAt: createdAt, expiresAt: expiresAt, revision: revision, parts: [])
        for index in 0..<partCount {
            let part = try part(at: index)
            record.parts.append(
                Part(
                    name: part.name.text(), mediaType: part.mediaType.text(),
                    blob: try part.blob()))
        }
        var details = NotificationDetails()
        var hasDetails = false
        var lastTag: UInt16 = 0
        var offset = fieldsOffset
        while offset < bytes.byteCount {
            guard bytes.byteCount - offset >= RecordField.headerByteCount else {
                throw .corrupt("a field of notification \(id)")
            }
            let tag = bytes.integer(offset, as: UInt16.self)
            let count = Int(bytes.integer(offset + 4, as: UInt32.self))
            offset += RecordField.headerByteCount
            guard count <= bytes.byteCount - offset, tag > lastTag else {
                throw .corrupt("a field of notification \(id)")
            }
            lastTag = tag
            let value = bytes.extracting(offset..<offset + count)
            if let field = TextField(rawValue: tag) {
                switch field {
                case .owner: record.owner = value.text()
                case .message: record.message = value.text()
                case .richType: record.richType = value.text()
                default:
                    hasDetails = true
                    guard let text = field.kind.stored(value) else {
                        throw .corrupt("field \(tag) of notification \(id)")
                    }
                    details[field] = text
                }
            } else if tag == RecordField.sequenceTag {
                let sequence: UInt64 = count == 8 ? value.integer(0) : 0
                guard sequence > 0, sequence <= revision else {
                    throw .corrupt("field \(tag) of notification \(id)")
                }
                record.arrival = sequence
            } else if let field = RecordField(rawValue: tag) {
                hasDetails = true
                guard DetailsFields.read(field, value, revision: revision, into: &details) else {
                    throw .corrupt("field \(tag) of notification \(id)")
                }
            } else {
                throw .corrupt("unknown field \(tag) of notification \(id)")
            }
            offset += count
        }
        if hasDetails { record.details = details }
        return record
    }
}

/// The fields after the part entries and their texts that are no texts (``TextField``), by tag: tag, two reserved
/// bytes, byte count, bytes.
enum RecordField: UInt16, CaseIterable {
    case state = 6
    case actions = 7
    case data = 8
    case responses = 11
    case platforms = 14
    case categoryRevision = 16

    static let headerByteCount = 8
    /// That of ``Record/arrival``, which is no detail.
    static let sequenceTag: UInt16 = 10
    /// The tags of what is in details, and that one.
    static let tags: [UInt16] =
        ([sequenceTag] + TextField.allCases.map(\.rawValue) + allCases.map(\.rawValue))
        .filter { $0 > TextField.richType.rawValue }.sorted()
}

struct PartView: ~Escapable {
    /// The entry: its length is known when this is compiled, so that reading from it checks nothing
    /// more.
    private let entry: RawSpan
    /// The name, and the media type after it.
    private let texts: RawSpan

    /// The entry at `offset`, which is inside the record with all its bytes.
    @inline(__always)
    @_lifetime(copy record)
    init(record: RawSpan, at offset: Int) throws(StoreError) {
        entry = record.extracting(offset..<offset + RecordView.partByteCount)
        let textsOffset = Int(entry.integer(60, as: UInt32.self))
        let textByteCount = Int(entry.byte(57)) + Int(entry.byte(58))
        guard textsOffset <= record.byteCount - textByteCount else {
            throw .corrupt("a part's name")
        }
        texts = record.extracting(textsOffset..<textsOffset + textByteCount)
    }

    @inline(__always)
    var isDefault: Bool { entry.byte(59) == Self.defaultMark }

    static let defaultMark: UInt8 = 1

    var name: RawSpan {
        @_lifetime(copy self)
        @inline(__always)
        get { texts.extracting(first: Int(entry.byte(57))) }
    }

    var mediaType: RawSpan {
        @_lifetime(copy self)
        @inline(__always)
        get { texts.extracting(last: Int(entry.byte(58))) }
    }

    @inline(__always)
    func blob() throws(StoreError) -> BlobReference {
        let byteCount = entry.integer(40, as: UInt64.self)
        let storedByteCount = entry.integer(48, as: UInt64.self)
        guard let coding = Coding(rawValue: entry.byte(56)),
            byteCount <= StoreLimits.payloadByteCountMax,
            storedByteCount <= StoreLimits.payloadByteCountMax,
            // Bytes as given are looked up by their positions as stored.
            coding != .identity || byteCount == storedByteCount
        else { throw .corrupt("a part's byte counts") }
        return BlobReference(
            digest: Digest(entry, at: 0), number: entry.integer(32),
            byteCount: Int(byteCount), storedByteCount: Int(storedByteCount), coding: coding)
    }
}

enum RecordEncoder {
    /// The value for `record`. The default part comes first, the others by name. One allocation,
    /// more where there are details.
    static func bytes(_ record: Record) -> [UInt8] {
        let parts = sorted(record.parts)
        let textsOffset = RecordView.headerByteCount + parts.count * RecordView.partByteCount
        var fieldsOffset = textsOffset
        for part in parts { fieldsOffset += part.name.utf8.count + part.mediaType.utf8.count }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(
            fieldsOffset + 3 * RecordField.headerByteCount + (record.owner?.utf8.count ?? 0)
                + (record.message?.utf8.count ?? 0) + (record.richType?.utf8.count ?? 0))
        bytes.appendZeros(fieldsOffset)
        DetailsFields.append(record, to: &bytes)
        let byteCount = bytes.count
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        target.store(RecordView.version, at: 0)
        target.store(UInt16(parts.count), at: 2)
        target.store(record.expiresAt.milliseconds, at: 8)
        target.store(record.createdAt.milliseconds, at: 16)
        target.store(record.revision, at: 24)
        target.store(UInt32(byteCount), at: 32)
        target.store(UInt32(fieldsOffset), at: 36)
        var textOffset = textsOffset
        for (index, part) in parts.enumerated() {
            let offset = RecordView.headerByteCount + index * RecordView.partByteCount
            store(part, nameOffset: textOffset, in: &target, at: offset)
            textOffset = target.store(part.name, at: textOffset)
            textOffset = target.store(part.mediaType, at: textOffset)
        }
        let checksum = RecordView.checksum(id: record.id.utf8.span.bytes, record: target.bytes)
        target.store(checksum, at: RecordView.checksumOffset)
        return bytes
    }

    static func sorted(_ parts: [Part]) -> [Part] {
        guard parts.count > 1 else { return parts }
        return parts.sorted { left, right in
            if left.name == Part.defaultName { return right.name != Part.defaultName }
            if right.name == Part.defaultName { return false }
            return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
        }
    }

    private static func store(
        _ part: Part, nameOffset: Int, in target: inout MutableRawSpan, at offset: Int
    ) {
        let digest = part.digest.rawWords
        target.store(digest.span.bytes, at: offset)
        target.store(part.blob.number, at: offset + 32)
        target.store(UInt64(part.byteCount), at: offset + 40)
        target.store(UInt64(part.storedByteCount), at: offset + 48)
        target.store(part.coding.rawValue, at: offset + 56)
        target.store(UInt8(part.name.utf8.count), at: offset + 57)
        target.store(UInt8(part.mediaType.utf8.count), at: offset + 58)
        let isDefault = part.name == Part.defaultName
        target.store(isDefault ? PartView.defaultMark : 0, at: offset + 59)
        target.store(UInt32(nameOffset), at: offset + 60)
    }
}
