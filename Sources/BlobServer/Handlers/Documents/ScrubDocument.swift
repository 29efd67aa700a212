import BlobProtocol
import BlobStore
import Bytes

/// What `/v1/scrub` answers: how far the store was read again, and what is damaged.
struct ScrubDocument {
    /// Damaged payloads that are listed.
    private static let listedCountMax = 100

    private let store: BlobStore
    private let state: ScrubState

    init(_ store: BlobStore, _ state: ScrubState) {
        self.store = store
        self.state = state
    }

    /// The figures.
    var numbers: NumbersDocument {
        let progress = state.progress
        let damage = store.damageCounts
        var document = NumbersDocument()
        document.add("running", progress.beganAt == nil ? 0 : 1)
        document.add("bytes_read", progress.byteCount)
        document.add("bytes_total", progress.byteCountInAll)
        document.add("bytes_per_second", progress.rate)
        if let began = progress.beganAt { document.add("began_at", Self.text(began)) }
        if let ended = progress.endedAt { document.add("last_ended_at", Self.text(ended)) }
        document.add("corrupt_chunks", damage.chunks)
        document.add("damaged_records", damage.records)
        document.add("damaged_entries", damage.entries)
        document.add("quarantined", store.quarantinedBlobs.count)
        return document
    }

    /// Appends the figures, and what is quarantined.
    func append(to out: inout [UInt8]) {
        out += numbers.finished().dropLast()
        out.append(",\"quarantine\":[")
        let blobs = store.quarantinedBlobs
        for (index, blob) in blobs.prefix(Self.listedCountMax).enumerated() {
            if index > 0 { out.append(",") }
            var document = NumbersDocument()
            document.add("digest", "\(blob.digest)")
            document.add("byte_count", blob.byteCount)
            document.add("references", blob.referenceCount)
            document.add("found_at", Self.text(blob.foundAt))
            out += document.finished()
        }
        out.append("]}")
    }

    private static func text(_ moment: Timestamp) -> String {
        var text: [UInt8] = []
        RFC3339.append(moment.milliseconds, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
