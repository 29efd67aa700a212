internal import LMDB
internal import Synchronization

/// The memtable that readers are given, and those before it that readers still have. Used by the writer, under
/// `CommitPipeline.writing`; readers find the memtable with their transaction (`ReaderSlots.setCompanion`).
final class Memtables: @unchecked Sendable {
    // Sendable: its user holds `CommitPipeline.writing`.

    private let readers: ReaderSlots
    private let memory = MemtableBlocks()
    /// How often something was acknowledged or committed: a snapshot of an earlier moment may lack it.
    let moment = Atomic<UInt64>(0)
    private var current: Memtable?
    private var isGiven = false
    private var retired: [Memtable] = []

    init(_ readers: ReaderSlots) { self.readers = readers }

    /// Bytes of what is acknowledged and not committed, and of what was taken back meanwhile.
    var byteCount: Int { current?.byteCount ?? 0 }

    /// Memtables of earlier commits that readers still have.
    var keptCount: Int { retired.count }

    /// The memtable that the next batch is put into. ``publish()``, ``Memtable/rollBack(to:)`` or ``retire()`` follows.
    ///
    /// - Parameter base: the last commit.
    func current(over base: UInt64) -> Memtable {
        if let current {
            // What was taken back keeps its memory.
            let isOfUse = isGiven || !current.isEmpty || current.byteCount == 0
            if current.base == base, isOfUse { return current }
            precondition(!isGiven && current.isEmpty, "a commit has left out what is acknowledged")
        }
        let memtable = Memtable(base: base, memory: memory)
        current = memtable
        return memtable
    }

    /// Lets readers see what was added: it is acknowledged from now on.
    func publish() {
        guard let current else { return }
        // Before and after: no snapshot counts as one that has it, until all have it that are opened from then on.
        moment.add(1, ordering: .sequentiallyConsistent)
        current.publish()
        if !isGiven { readers.setCompanion(current.address) }
        isGiven = true
        moment.add(1, ordering: .releasing)
        release()
    }

    /// All that was acknowledged is committed: who begins to read finds it there.
    func retire() {
        current?.dropReferences()
        if isGiven { readers.setCompanion(0) }
        moment.add(1, ordering: .releasing)
        if isGiven, let current { retired.append(current) }
        isGiven = false
        current = nil
        release()
    }

    /// Frees what no reader has any more, and memory that was not used lately. Once a second.
    func trim() {
        release()
        memory.trim()
    }

    /// Frees what no reader has any more.
    func release() {
        guard !retired.isEmpty else { return }
        retired.removeAll { !readers.isGiven($0.address) }
    }
}
