import BlobProtocol
import BlobStore

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
