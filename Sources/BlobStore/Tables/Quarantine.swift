internal import Synchronization

/// What this process knows of damage: blobs that are quarantined, and those that may have to be.
///
/// A chunk that fails its checksum is noted here by who read it. ``Scrubber`` reads the blob again; what
/// is confirmed is quarantined by the thread that writes.
final class Quarantine: Sendable {
    private struct State {
        /// By blob number, as the table has it.
        var entries: [UInt64: QuarantineEntry] = [:]
        /// Blobs of which a chunk failed, by number.
        var suspects: [UInt64: BlobReference] = [:]
        /// Those that are damaged, with how many chunks, and are not quarantined yet.
        var confirmed: [UInt64: (blob: BlobReference, chunkCount: Int)] = [:]
        /// Those that were quarantined and not reported yet.
        var unreported: [QuarantineEntry] = []
    }

    private let state = Mutex(State())
    /// How many ``State/entries`` there are, for who reads chunks.
    private let count = Atomic<Int>(0)
    /// Whether there is something to confirm or to report, and whether something is confirmed.
    private let hasWork = Atomic(false)
    private let hasConfirmed = Atomic(false)
    /// Chunks, records and index entries that were found damaged since the store was opened.
    let corruptChunks = Atomic<Int>(0)
    let damagedRecords = Atomic<Int>(0)
    let damagedEntries = Atomic<Int>(0)

    /// Suspects at once; others are found again.
    private static let suspectCountMax = 1_024

    /// Whether nothing of a blob may be sent. One load while there is none.
    func contains(_ number: UInt64) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return state.withLock { $0.entries[number] != nil }
    }

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Notes that a chunk failed.
    func suspect(_ blob: BlobReference) {
        state.withLock { state in
            guard state.entries[blob.number] == nil, state.confirmed[blob.number] == nil,
                state.suspects.count < Self.suspectCountMax
            else { return }
            state.suspects[blob.number] = blob
            hasWork.store(true, ordering: .releasing)
        }
    }

    /// Whether there are suspects, or some were quarantined and not reported. One load.
    var needsScrubber: Bool { hasWork.load(ordering: .acquiring) }

    /// Takes what is to be read again.
    func takeSuspects() -> [BlobReference] {
        state.withLock { state in
            defer { state.suspects = [:] }
            hasWork.store(!state.unreported.isEmpty, ordering: .releasing)
            return Array(state.suspects.values)
        }
    }

    /// Notes that a blob is damaged.
    func confirm(_ blob: BlobReference, chunkCount: Int) {
        state.withLock { state in
            guard state.entries[blob.number] == nil else { return }
            state.confirmed[blob.number] = (blob, chunkCount)
            hasConfirmed.store(true, ordering: .releasing)
        }
    }

    /// What is to be quarantined. One load while there is nothing.
    var confirmed: [(blob: BlobReference, chunkCount: Int)] {
        guard hasConfirmed.load(ordering: .acquiring) else { return [] }
        return state.withLock { Array($0.confirmed.values) }
    }

    /// A blob is quarantined, or has gone.
    ///
    /// - Parameter entry: nil where it has gone.
    func finish(_ blob: BlobReference, _ entry: QuarantineEntry?, chunkCount: Int) {
        state.withLock { state in
            state.confirmed[blob.number] = nil
            hasConfirmed.store(!state.confirmed.isEmpty, ordering: .releasing)
            guard let entry else { return }
            hasWork.store(true, ordering: .releasing)
            state.entries[blob.number] = entry
            state.unreported.append(entry)
            count.store(state.entries.count, ordering: .releasing)
        }
        if entry != nil { corruptChunks.add(chunkCount, ordering: .relaxed) }
    }

    /// Those that were quarantined and not reported yet.
    func takeUnreported() -> [QuarantineEntry] {
        state.withLock { state in
            defer { state.unreported = [] }
            hasWork.store(!state.suspects.isEmpty, ordering: .releasing)
            return state.unreported
        }
    }

    /// All that are quarantined, by number.
    var entries: [QuarantineEntry] {
        state.withLock { $0.entries.values.sorted { $0.blob.number < $1.blob.number } }
    }

    /// Takes over what the table has.
    func replace(by entries: [QuarantineEntry]) {
        state.withLock { state in
            state.entries = [:]
            for entry in entries { state.entries[entry.blob.number] = entry }
            count.store(state.entries.count, ordering: .releasing)
        }
    }
}
