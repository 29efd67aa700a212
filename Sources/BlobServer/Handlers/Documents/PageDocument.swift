import BlobProtocol
import BlobStore
import Bytes

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
