internal import Synchronization

struct DamagedBlob: Equatable {
    var number: UInt64
    var digest: Digest
    var foundAt: Timestamp
    /// The transaction that noted it: views before that may have read it. 0: another process noted it.
    var transaction: UInt64 = 0
}

/// What this process knows of damage. A chunk that fails its checksum is noted here by who read it. ``Scrubber``
/// reads the blob again; what is confirmed is noted in the store by the thread that writes.
final class Quarantine: Sendable {
    private struct State {
        /// By blob number, as the table has it.
        var entries: [UInt64: DamagedBlob] = [:]
        /// Blobs of which a chunk failed, by number.
        var suspects: [UInt64: BlobReference] = [:]
        /// Those that are damaged, with how many chunks, and are not noted yet.
        var confirmed: [UInt64: (blob: BlobReference, chunkCount: Int)] = [:]
        /// Those that were noted and not reported yet. One may have been mended since: it is reported all the same.
        var unreported: [DamagedBlob] = []
        /// Those that batches which wait to be shipped name, and that could not be read for that.
        var unshippable: [UInt64: BlobReference] = [:]
        /// Blobs whose chunks cannot be removed, and why, as far as it was not reported yet.
        var irremovable: Set<UInt64> = []
        var unreportedIrremovable: [(number: UInt64, why: String)] = []
        /// What has ended and cannot be removed.
        var unsweepable: Set<TimeEntry> = []
    }

    private let state = Mutex(State())
    /// How many ``State/entries`` there are, for who reads chunks.
    private let count = Atomic<Int>(0)
    /// Whether there is something to confirm or to report, and whether something is confirmed.
    private let hasWork = Atomic(false)
    private let hasConfirmed = Atomic(false)
    private let hasIrremovable = Atomic(false)
    /// Whether blobs may have given way to others that parts are yet to be given.
    let mayHaveGivenWay = Atomic(true)
    /// Chunks (and blobs that cannot be removed), records and index entries that were found damaged since the store
    /// was opened.
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

    /// Whether a blob is known to be damaged, noted in the store or not yet. Two loads while there is none.
    func isDamaged(_ number: UInt64) -> Bool {
        guard hasConfirmed.load(ordering: .acquiring) else { return contains(number) }
        return state.withLock { $0.entries[number] != nil || $0.confirmed[number] != nil }
    }

    /// Whether the store says that a blob is damaged: views from now on do.
    func isNoted(_ number: UInt64) -> Bool {
        state.withLock { $0.entries[number] != nil && $0.confirmed[number] == nil }
    }

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// A blob has given way to another.
    func noteGivenWay() { mayHaveGivenWay.store(true, ordering: .relaxed) }

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

    func takeSuspects() -> [BlobReference] {
        state.withLock { state in
            defer { state.suspects = [:] }
            hasWork.store(!state.unreported.isEmpty, ordering: .releasing)
            return Array(state.suspects.values)
        }
    }

    func confirm(_ blob: BlobReference, chunkCount: Int) {
        state.withLock { state in
            guard state.entries[blob.number] == nil else { return }
            state.confirmed[blob.number] = (blob, chunkCount)
            hasConfirmed.store(true, ordering: .releasing)
        }
    }

    func noteUnshippable(_ blob: BlobReference) {
        state.withLock { state in
            state.unshippable[blob.number] = blob
            hasConfirmed.store(true, ordering: .releasing)
        }
    }

    /// Takes what cannot be shipped. One load while there is nothing.
    func takeUnshippable() -> [BlobReference] {
        guard hasConfirmed.load(ordering: .acquiring) else { return [] }
        return state.withLock { state in
            defer { state.unshippable = [:] }
            hasConfirmed.store(!state.confirmed.isEmpty, ordering: .releasing)
            return Array(state.unshippable.values)
        }
    }

    /// Has a blob stay for as long as this process runs: a page that it has is damaged, so that liblmdb would free
    /// others' pages with its own, or an entry that tells what to free cannot be read.
    func noteIrremovable(_ number: UInt64, _ why: StoreError) {
        let isNew = state.withLock { state in
            guard state.irremovable.insert(number).inserted else { return false }
            state.unreportedIrremovable.append((number, "\(why)"))
            hasIrremovable.store(true, ordering: .releasing)
            return true
        }
        if isNew { corruptChunks.add(1, ordering: .relaxed) }
    }

    /// Whether freeing and eviction step over a blob. One load while that is so of none.
    func isIrremovable(_ number: UInt64) -> Bool {
        guard hasIrremovable.load(ordering: .acquiring) else { return false }
        return state.withLock { $0.irremovable.contains(number) }
    }

    /// Takes what was not reported yet. One load while there is nothing.
    func takeIrremovable() -> [(number: UInt64, why: String)] {
        guard hasIrremovable.load(ordering: .acquiring) else { return [] }
        return state.withLock { state in
            defer { state.unreportedIrremovable = [] }
            return state.unreportedIrremovable
        }
    }

    /// Has what has ended stay for as long as this process runs.
    func noteUnsweepable(_ entry: TimeEntry) {
        state.withLock { _ = $0.unsweepable.insert(entry) }
    }

    func isUnsweepable(_ entry: TimeEntry) -> Bool {
        state.withLock { $0.unsweepable.contains(entry) }
    }

    var unsweepableCount: Int { state.withLock { $0.unsweepable.count } }

    /// What is to be quarantined. One load while there is nothing.
    var confirmed: [(blob: BlobReference, chunkCount: Int)] {
        guard hasConfirmed.load(ordering: .acquiring) else { return [] }
        return state.withLock { Array($0.confirmed.values) }
    }

    /// Has nothing of a blob sent from now on.
    func close(_ entry: DamagedBlob) {
        state.withLock { state in
            state.entries[entry.number] = entry
            count.store(state.entries.count, ordering: .releasing)
        }
    }

    /// A blob is mended or gone: it is damaged no more, also where that was not noted yet.
    func open(_ number: UInt64) {
        reopen(number)
        state.withLock { forgetConfirmed(number, &$0) }
    }

    /// That a blob is damaged could not be noted, and is tried again.
    func reopen(_ number: UInt64) {
        state.withLock { state in
            state.entries[number] = nil
            count.store(state.entries.count, ordering: .releasing)
        }
    }

    /// A damaged blob is noted, or is gone. `transaction`: the one that noted it; nil where it is gone.
    func finish(_ blob: BlobReference, in transaction: UInt64?, chunkCount: Int) {
        guard let transaction else { return open(blob.number) }
        state.withLock { state in
            forgetConfirmed(blob.number, &state)
            hasWork.store(true, ordering: .releasing)
            guard var entry = state.entries[blob.number] else { return }
            entry.transaction = transaction
            state.entries[blob.number] = entry
            state.unreported.append(entry)
        }
        corruptChunks.add(chunkCount, ordering: .relaxed)
    }

    private func forgetConfirmed(_ number: UInt64, _ state: inout State) {
        state.confirmed[number] = nil
        hasConfirmed.store(
            !state.confirmed.isEmpty || !state.unshippable.isEmpty, ordering: .releasing)
    }

    func takeUnreported() -> [DamagedBlob] {
        state.withLock { state in
            defer { state.unreported = [] }
            hasWork.store(!state.suspects.isEmpty, ordering: .releasing)
            return state.unreported
        }
    }

    func entry(_ number: UInt64) -> DamagedBlob? { state.withLock { $0.entries[number] } }

    var entries: [DamagedBlob] {
        state.withLock { $0.entries.values.sorted { $0.number < $1.number } }
    }

    /// Takes over what the table has.
    func replace(by entries: [DamagedBlob]) {
        state.withLock { state in
            let old = state.entries
            state.entries = [:]
            for entry in entries {
                state.entries[entry.number] = entry
                state.entries[entry.number]?.transaction = old[entry.number]?.transaction ?? 0
            }
            count.store(state.entries.count, ordering: .releasing)
        }
    }
}
