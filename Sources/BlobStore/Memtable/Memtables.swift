internal import LMDB
internal import Synchronization

/// The memtable that readers are given, the one below it that is being committed, and those before that readers still
/// have. Used by the writer, under `CommitPipeline.writing`; readers find the memtable with their transaction
/// (`ReaderSlots.setCompanion`).
final class Memtables: @unchecked Sendable {
    // Sendable: its user holds `CommitPipeline.writing`.

    private let readers: ReaderSlots
    private let memory = MemtableBlocks()
    /// How often something was acknowledged or committed: a snapshot of an earlier moment may lack it.
    let moment = Atomic<UInt64>(0)
    private var current: Memtable?
    private var isGiven = false
    /// What is being committed, while changes come into the current one.
    private(set) var frozen: Memtable?
    private var retired: [Retired] = []

    /// A memtable of an earlier commit.
    private struct Retired {
        let memtable: Memtable
        /// The address of the one over it, whose readers have both; 0: none.
        let newer: UInt
    }

    init(_ readers: ReaderSlots) { self.readers = readers }

    /// Bytes of what is acknowledged and neither committed nor frozen, and of what was taken back meanwhile.
    var byteCount: Int { current?.byteCount ?? 0 }

    /// Memtables of earlier commits that readers still have.
    var keptCount: Int { retired.count }

    /// The memtable that the next batch is put into. ``publish()``, ``Memtable/rollBack(to:)`` or ``retire()`` follows.
    ///
    /// - Parameter commit: the last commit.
    func current(over commit: UInt64) -> Memtable {
        let base = frozen.map { $0.base + 1 } ?? commit
        if let current {
            // What was taken back keeps its memory.
            let isOfUse = isGiven || !current.isEmpty || current.byteCount == 0
            if current.base == base, isOfUse { return current }
            precondition(!isGiven && current.isEmpty, "a commit has left out what is acknowledged")
        }
        let memtable = Memtable(base: base, over: frozen, memory: memory)
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

    /// Ends the current memtable, all of which is acknowledged: it is to be committed, and changes come into a new one
    /// over it from now on. ``retireFrozen()`` follows.
    func freeze() -> Memtable {
        guard let memtable = current, isGiven, frozen == nil else {
            preconditionFailure("one memtable is frozen at a time, and has something")
        }
        frozen = memtable
        let newer = Memtable(base: memtable.base + 1, over: memtable, memory: memory)
        current = newer
        // Before the commit: a view of that would find nothing in the one below.
        readers.setCompanion(newer.address)
        return memtable
    }

    /// What was frozen is committed: who begins to read finds it there.
    func retireFrozen() {
        guard let memtable = frozen, let newer = current else { return }
        frozen = nil
        moment.add(1, ordering: .releasing)
        retired.append(Retired(memtable: memtable, newer: newer.address))
        if newer.isEmpty { retire() } else { release() }
    }

    /// All that was acknowledged is committed: who begins to read finds it there.
    func retire() {
        precondition(frozen == nil, "what is frozen is committed first")
        current?.dropReferences()
        if isGiven { readers.setCompanion(0) }
        moment.add(1, ordering: .releasing)
        if isGiven, let current { retired.append(Retired(memtable: current, newer: 0)) }
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
        retired.removeAll { retired in
            let memtable = retired.memtable
            if readers.isGiven(memtable.address) { return false }
            // Who has the one over it looks into this one only where it sees the commit before.
            return retired.newer == 0 || !readers.isGiven(retired.newer, upTo: memtable.base)
        }
    }
}
