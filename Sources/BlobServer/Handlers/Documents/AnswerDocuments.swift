import BlobProtocol
import BlobStore
import Bytes

/// A line of a batch's answer: what became of one document.
enum BatchLineDocument {
    /// Appends the line of one that is stored.
    static func append(_ record: Record, created: Bool, to out: inout [UInt8]) {
        out.append("{\"id\":")
        JSONText.append(record.id, to: &out)
        out.append(created ? ",\"status\":201" : ",\"status\":200")
        out.append(",\"revision\":")
        Decimal.append(record.revision, to: &out)
        out.append("}\n")
    }

    /// Appends the line of one that is refused.
    static func append(_ error: ProtocolError, id: String?, to out: inout [UInt8]) {
        out.append("{")
        if let id {
            out.append("\"id\":")
            JSONText.append(id, to: &out)
            out.append(",")
        }
        out.append("\"status\":")
        Decimal.append(UInt64(error.status), to: &out)
        out.append(",\"code\":")
        JSONText.append(error.code.rawValue, to: &out)
        out.append(",\"detail\":")
        JSONText.append(error.detail, to: &out)
        out.append("}\n")
    }
}

/// A blob that is kept for a while.
enum HeldBlobDocument {
    /// Appends the document.
    static func append(_ held: HeldBlob, to out: inout [UInt8]) {
        out.append("{\"digest\":\"")
        held.blob.digest.appendText(to: &out)
        out.append("\",\"byte_count\":")
        Decimal.append(UInt64(held.blob.byteCount), to: &out)
        out.append(",\"stored_byte_count\":")
        Decimal.append(UInt64(held.blob.storedByteCount), to: &out)
        out.append(",\"coding\":")
        JSONText.append(held.blob.coding.name, to: &out)
        out.append(",\"held_until\":\"")
        RFC3339.append(held.until.milliseconds, to: &out)
        out.append("\"}")
    }
}

/// A page of records, as `list` answers it.
enum PageDocument {
    /// Appends the document: the records, and the id to go on after when there are more.
    static func append(_ page: RecordPage, to out: inout [UInt8]) {
        out.append("{\"notifications\":[")
        for (index, record) in page.records.enumerated() {
            if index > 0 { out.append(",") }
            RecordDocument.append(record, to: &out)
        }
        out.append("],\"next\":")
        if let next = page.next {
            JSONText.append(next, to: &out)
        } else {
            out.append("null")
        }
        out.append("}")
    }
}
