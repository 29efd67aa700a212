import BlobStore

/// Where the numbers of ``Figure`` are read: what `/v1/stats` and `/metrics` share.
struct FigureSource: Sendable {
    let store: BlobStore
    let counters: DaemonCounters
    private let bodyMemory: BodyMemory
    private let limits: LiveLimits
    private let accessLog: AccessLog?
    let startedAt = Timestamp.now
    /// How often the store had committed by then: it continues to count from one run to the next.
    private let commitCountBefore: UInt64

    /// Of a daemon that starts now, with its store open.
    init(
        store: BlobStore, counters: DaemonCounters, bodyMemory: BodyMemory, limits: LiveLimits,
        accessLog: AccessLog?
    ) {
        self.store = store
        self.counters = counters
        self.bodyMemory = bodyMemory
        self.limits = limits
        self.accessLog = accessLog
        commitCountBefore = store.pendingKeys.commitCount
    }

    /// The numbers now. Costs a snapshot and a look at every table's root.
    func now() throws(StoreError) -> DaemonFigures {
        DaemonFigures(
            store: store, held: try store.statistics(), counters: counters, limits: limits.now,
            commitCount: Int(clamping: store.pendingKeys.commitCount &- commitCountBefore),
            bodyMemoryByteCount: bodyMemory.byteCountReserved,
            bodySpoolCount: bodyMemory.spoolCountTaken,
            droppedLineCount: accessLog?.droppedCount ?? 0, requests: counters.requests)
    }
}
