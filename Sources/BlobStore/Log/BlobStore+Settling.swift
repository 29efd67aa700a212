internal import Glibc
internal import LMDB
internal import Synchronization

// A snapshot has all that was acknowledged before it was opened. In a process that reads beside a
// daemon that takes a moment's waiting where the daemon has acknowledged something that is in its
// log alone. In the daemon itself nobody waits: it asks `unsettled`, and lets its writer settle.

extension BlobStore {
    /// Waits, in a process that only reads, until what may concern a notification is committed.
    @inline(__always)
    @usableFromInline
    func awaitSettled(_ id: String) throws(StoreError) {
        guard !unsettled.isEmpty else { return }
        try awaitSettled(id: id)
    }

    /// The same for everything.
    @inline(__always)
    @usableFromInline
    func awaitSettled() throws(StoreError) {
        guard !unsettled.isEmpty else { return }
        try awaitSettled(id: nil)
    }

    @inline(never)
    private func awaitSettled(id: String?) throws(StoreError) {
        guard isReadOnly, !options.ignoresLog else { return }
        let before = unsettled.settleCount
        if let id, !unsettled.mayContain(id.utf8.span.bytes) { return }
        unsettled.hurry()
        for _ in 0..<StoreLimits.settlingMillisecondsMax * Self.looksPerMillisecond {
            if unsettled.isEmpty || unsettled.settleCount != before { return }
            usleep(UInt32(1_000 / Self.looksPerMillisecond))
        }
        throw .unsettled
    }

    private static let looksPerMillisecond = 5

    /// Refuses a store whose log has what `data.mdb` has not and nobody is about to commit: the
    /// power went, and its daemon has not been started since.
    func checkLog() throws(StoreError) {
        // Beside a writer that is at work, either the last commit or the mark says so, unless both
        // come between the two looks.
        for _ in 0..<Self.logLookCountMax {
            guard
                let log = try ChangeLog(directory, of: id, .reading),
                let transaction = try log.firstTransaction()
            else { return }
            let last = try withSnapshotUnsettled { $0.transaction.id }
            guard transaction > last, unsettled.isEmpty else { return }
            usleep(1_000)
        }
        throw .cannotOpen(
            path: directory,
            reason:
                "\(ChangeLog.fileName) has changes that \(DataFile.name) has not; open it for writing once (blobd serve does), which commits them"
        )
    }

    private static let logLookCountMax = 100

    private func withSnapshotUnsettled<Result>(
        _ body: (borrowing Snapshot) -> Result
    ) throws(StoreError) -> Result {
        body(try Snapshot(self, isKept: true))
    }
}

extension Snapshot {
    /// Whether nothing was committed by this process since it was opened.
    package var isCurrent: Bool {
        @inline(__always)
        get {
            // Whoever made this snapshot keeps its store.
            unretainedStore._withUnsafeGuaranteedRef {
                transaction.viewedCommit >= $0.lastCommit.load(ordering: .acquiring)
            }
        }
    }
}
