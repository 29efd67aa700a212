import BlobProtocol
import BlobStore
import Bytes

/// The lines of a batch: JSON lines, each a notification's document.
enum BatchLines {
    /// The lines that are not blank. Throws `payload_too_large` for more than 1,000.
    static func split(_ bytes: RawSpan) throws(ProtocolError) -> [Slice] {
        var lines: [Slice] = []
        var start = 0
        while start < bytes.byteCount {
            let end = bytes.index(of: 0x0A, from: start)
            if !isBlank(bytes, start..<end) {
                let max = WireLimits.batchLineCountMax
                try require(
                    lines.count < max, .payloadTooLarge,
                    "the batch is over the limit of \(max) lines", limit: max)
                // JSON treats a CR as white space.
                lines.append(Slice(offset: start, count: end - start))
            }
            start = end + 1
        }
        return lines
    }

    private static func isBlank(_ bytes: RawSpan, _ line: Range<Int>) -> Bool {
        for index in line {
            switch bytes.byte(index) {
            case 0x20, 0x09, 0x0D: continue
            default: return false
            }
        }
        return true
    }
}

/// A line of a batch's answer: the result of one document.
enum BatchLineDocument {
    static func append(_ record: Record, created: Bool, to out: inout [UInt8]) {
        out.object {
            $0.add("id", record.id)
            $0.add("status", created ? 201 : 200)
            $0.add("revision", record.revision)
        }
        out.append("\n")
    }

    static func append(_ error: ProtocolError, id: String?, to out: inout [UInt8]) {
        out.object {
            $0.add("id", id)
            $0.add("status", Int(error.status))
            $0.add("code", error.code.rawValue)
            $0.add("detail", error.detail)
        }
        out.append("\n")
    }
}

enum HeldBlobDocument {
    static func append(_ held: HeldBlob, to out: inout [UInt8]) {
        out.object {
            $0.add("digest", held.blob.digest.description)
            $0.add("byte_count", held.blob.byteCount)
            $0.add("stored_byte_count", held.blob.storedByteCount)
            $0.add("coding", held.blob.coding.name)
            $0.add("held_until", held.until)
        }
    }
}
