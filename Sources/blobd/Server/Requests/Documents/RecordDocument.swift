import BlobProtocol
import BlobStore

// The JSON documents of both dialects, written byte by byte: there are four of them, and they are
// flat.

/// A notification's record, as `GET /v1/notifications/{id}` and `stat` answer it.
enum RecordDocument {
    /// Appends the document. Optional members that are absent are left out.
    static func append(_ record: Record, to out: inout [UInt8]) {
        out.append("{\"id\":")
        JSONText.append(record.id, to: &out)
        append("owner", record.owner, to: &out)
        append("message", record.message, to: &out)
        append("rich_type", record.richType, to: &out)
        out.append(",\"created_at\":\"")
        RFC3339.append(record.createdAt.milliseconds, to: &out)
        out.append("\",\"expires_at\":\"")
        RFC3339.append(record.expiresAt.milliseconds, to: &out)
        out.append("\",\"revision\":")
        Decimal.append(record.revision, to: &out)
        out.append(",\"parts\":[")
        for (index, part) in record.parts.enumerated() {
            if index > 0 { out.append(",") }
            append(part, to: &out)
        }
        out.append("]}")
    }

    private static func append(_ part: Part, to out: inout [UInt8]) {
        out.append("{\"name\":")
        JSONText.append(part.name, to: &out)
        out.append(",\"media_type\":")
        JSONText.append(part.mediaType, to: &out)
        out.append(",\"digest\":\"sha256:")
        part.digest.appendHex(to: &out)
        out.append("\",\"byte_count\":")
        Decimal.append(UInt64(part.byteCount), to: &out)
        out.append(",\"stored_byte_count\":")
        Decimal.append(UInt64(part.storedByteCount), to: &out)
        out.append(",\"coding\":")
        JSONText.append(part.coding.name, to: &out)
        out.append("}")
    }

    private static func append(_ name: StaticString, _ value: String?, to out: inout [UInt8]) {
        guard let value else { return }
        out.append(",\"")
        out.append(name)
        out.append("\":")
        JSONText.append(value, to: &out)
    }
}

/// A page of records, as `list` answers it.
enum PageDocument {
    /// Appends the document: the records, and the id to go on after when there may be more.
    static func append(_ records: [Record], limit: Int, to out: inout [UInt8]) {
        out.append("{\"notifications\":[")
        for (index, record) in records.enumerated() {
            if index > 0 { out.append(",") }
            RecordDocument.append(record, to: &out)
        }
        out.append("],\"next\":")
        if records.count == limit, let last = records.last {
            JSONText.append(last.id, to: &out)
        } else {
            out.append("null")
        }
        out.append("}")
    }
}

/// A flat object of numbers, as `stats` answers it.
struct NumbersDocument {
    private var bytes: [UInt8] = Array("{".utf8)
    private var isFirst = true

    /// Adds a number.
    mutating func add(_ name: String, _ value: Int) {
        begin(name)
        if value < 0 { bytes.append("-") }
        Decimal.append(UInt64(value.magnitude), to: &bytes)
    }

    /// Adds a text.
    mutating func add(_ name: String, _ value: String) {
        begin(name)
        JSONText.append(value, to: &bytes)
    }

    /// Adds an object.
    mutating func add(_ name: String, _ value: consuming NumbersDocument) {
        begin(name)
        bytes.append(contentsOf: value.finished())
    }

    /// The document.
    func finished() -> [UInt8] { bytes + [UInt8(ascii: "}")] }

    private mutating func begin(_ name: String) {
        if !isFirst { bytes.append(",") }
        isFirst = false
        JSONText.append(name, to: &bytes)
        bytes.append(":")
    }
}
