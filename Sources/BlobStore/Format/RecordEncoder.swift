/// Writes what ``RecordView`` reads.
enum RecordEncoder {
    /// The part that is meant when none is named.
    static let defaultPartName = "payload"

    /// The value for `record`. The default part comes first, the others by name.
    static func bytes(_ record: Record) -> [UInt8] {
        let parts = sorted(record.parts)
        let textOffset =
            RecordView.headerByteCount + parts.count * RecordView.partByteCount
        let textByteCount = parts.reduce(0) { $0 + $1.name.utf8.count + $1.mediaType.utf8.count }
        let fields = fields(of: record)

        var bytes: [UInt8] = []
        bytes.reserveCapacity(textOffset + textByteCount + fields.count)
        bytes.append(RecordView.version)
        bytes.append(0)
        bytes.appendLittleEndian(UInt16(parts.count))
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(record.expiresAt.milliseconds)
        bytes.appendLittleEndian(record.createdAt.milliseconds)
        bytes.appendLittleEndian(record.revision)
        bytes.appendLittleEndian(UInt32(textOffset + textByteCount + fields.count))
        bytes.appendLittleEndian(UInt32(textOffset + textByteCount))
        var nameOffset = textOffset
        for part in parts {
            append(part, nameOffset: nameOffset, to: &bytes)
            nameOffset += part.name.utf8.count + part.mediaType.utf8.count
        }
        for part in parts {
            bytes.append(contentsOf: part.name.utf8)
            bytes.append(contentsOf: part.mediaType.utf8)
        }
        bytes.append(contentsOf: fields)

        let id = Array(record.id.utf8)
        var encoded: [UInt8] = []
        encoded.appendLittleEndian(
            RecordView.checksum(id: id.span.bytes, record: bytes.span.bytes))
        bytes.replaceSubrange(RecordView.checksumOffset..<RecordView.checkedFrom, with: encoded)
        return bytes
    }

    static func sorted(_ parts: [Part]) -> [Part] {
        parts.sorted { left, right in
            if left.name == defaultPartName { return right.name != defaultPartName }
            if right.name == defaultPartName { return false }
            return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
        }
    }

    private static func append(_ part: Part, nameOffset: Int, to bytes: inout [UInt8]) {
        part.digest.append(to: &bytes)
        bytes.appendLittleEndian(part.blob.number)
        bytes.appendLittleEndian(UInt64(part.byteCount))
        bytes.appendLittleEndian(UInt64(part.storedByteCount))
        bytes.append(part.coding.rawValue)
        bytes.append(UInt8(part.name.utf8.count))
        bytes.append(UInt8(part.mediaType.utf8.count))
        bytes.append(part.name == defaultPartName ? PartView.defaultMark : 0)
        bytes.appendLittleEndian(UInt32(nameOffset))
    }

    private static func fields(of record: Record) -> [UInt8] {
        var bytes: [UInt8] = []
        let texts: [(RecordField, String?)] = [
            (.owner, record.owner), (.message, record.message), (.richType, record.richType),
        ]
        for case (let field, let text?) in texts {
            bytes.appendLittleEndian(field.rawValue)
            bytes.appendLittleEndian(UInt16(0))
            bytes.appendLittleEndian(UInt32(text.utf8.count))
            bytes.append(contentsOf: text.utf8)
        }
        return bytes
    }
}
