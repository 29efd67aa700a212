internal import LMDB
internal import Synchronization

extension Mutex where Value == Void {
    /// Calls `body` under the lock. `withLock` returns only what may be sent, and throws nothing of a closure's.
    func locking<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        var result: Swift.Result<Result, StoreError>?
        withLock { _ in result = Swift.Result { () throws(StoreError) in try body() } }
        guard let result else { preconditionFailure("the lock ran its body") }
        return try result.get()
    }
}

/// What all parts of a store work with: its environment, its tables, and what this process knows of
/// them. Each part gets it when it is made.
final class StoreCore: Sendable {
    let id: StoreID
    /// The stores whose backups it comes from.
    let predecessors: Predecessors
    let directory: String
    let options: StoreOptions
    /// Those of the options that may change while it is open.
    let adjustable: Mutex<AdjustableOptions>

    let environment: Environment
    /// The environment's read transactions: here as a plain value, so that a snapshot counts no
    /// reference on its way to them.
    let readers: ReaderSlots
    let tables: Tables
    let leases = LeaseTable()
    /// Chunks and records whose checksums were computed by this process.
    let verifiedChunks = VerifiedSet()
    let verifiedRecords = VerifiedSet()
    let quarantine = Quarantine()
    /// Blobs that are being removed here, since the bucket has their bytes.
    let evictions: Evictions
    let replication = Replication()
    let durations = WriteDurations()
    /// The last transaction that this process committed; 0: none yet.
    let lastCommit = Atomic<UInt64>(0)
    /// What is acknowledged and not committed.
    let memtables: Memtables
    /// Held while `data.mdb` is written. Taken alone, or inside of `CommitPipeline.writing`.
    let tree = Mutex<Void>(())
    /// Keeps other daemons out; nil when read-only. The last to go.
    private let directoryLock: DirectoryLock?

    init(
        _ environment: Environment, tables: Tables, id: StoreID, predecessors: Predecessors,
        directory: String, options: StoreOptions, lock: DirectoryLock?
    ) {
        self.environment = environment
        readers = environment.readers
        memtables = Memtables(environment.readers)
        self.tables = tables
        self.directory = directory
        self.options = options
        adjustable = Mutex(AdjustableOptions(options))
        evictions = Evictions(leases, isEnabled: options.evictsBlobs)
        self.id = id
        self.predecessors = predecessors
        directoryLock = consume lock
    }

    /// The chunks of a blob are checked again when they are read next.
    func forgetVerified(_ blob: BlobReference) {
        for index in 0..<blob.chunkCount { verifiedChunks.remove(blob.number &+ UInt64(index)) }
    }

    /// Calls `body` with what is committed now. Opening costs about a hundred nanoseconds. Throws what `body`
    /// throws; ``StoreError/readersFull``.
    func withSnapshot<Result>(
        _ body: (borrowing Snapshot) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try body(try snapshot())
    }

    /// What is acknowledged now. It ends likewise.
    func acknowledged() throws(StoreError) -> Snapshot {
        try Snapshot(self, isKept: true, isCommitted: false)
    }

    /// What is committed now. It ends with the expression, or with the variable that has it.
    func snapshot() throws(StoreError) -> Snapshot {
        try Snapshot(self, isKept: true, isCommitted: true)
    }
}
