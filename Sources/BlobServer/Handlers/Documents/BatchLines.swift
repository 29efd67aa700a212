import BlobProtocol
import Bytes

/// The lines of a batch: JSON lines, each a notification's document.
enum BatchLines {
    /// The lines that are not blank, in their order, each without its LF or CR LF; the last one
    /// needs none. Throws `payload_too_large` when there are more than 1,000. What is in them is
    /// not looked at.
    static func split(_ bytes: RawSpan) throws(ProtocolError) -> [Slice] {
        var lines: [Slice] = []
        var start = 0
        while start < bytes.byteCount {
            let end = bytes.index(of: 0x0A, from: start)
            if !isBlank(bytes, start..<end) {
                let max = WireLimits.batchLineCountMax
                guard lines.count < max else {
                    throw ProtocolError(
                        .payloadTooLarge, "the batch is over the limit of \(max) lines", limit: max)
                }
                // A CR is a blank to JSON.
                lines.append(Slice(offset: start, count: end - start))
            }
            start = end + 1
        }
        return lines
    }

    /// Whether there is nothing but blanks. A line that says something begins with it.
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
