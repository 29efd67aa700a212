internal import Bytes

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
