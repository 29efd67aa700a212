internal import BlobStore

/// Deletes from a bucket what nobody needs any more, and puts again what it has lost: the bases before the retention, then
/// objects of payloads that no base has, then those that are missing, and last what the store keeps to know that.
struct GarbageCollection {
    private enum Stage {
        case history
        case blobs(BlobCollector, upTo: UInt64)
        case missing(Set<UInt64>, upTo: UInt64)
        case retired(upTo: UInt64)
    }

    private let store: BlobStore
    private let epoch: UInt64
    private let writer: any StoreWriter
    private var history: HistoryCollector
    /// nil: nothing is under way.
    private var stage: Stage?
    private var begunAt: Timestamp

    init(
        _ store: BlobStore, epoch: UInt64, _ schedule: BaseSchedule, writer: any StoreWriter,
        asOf now: Timestamp
    ) {
        self.store = store
        self.epoch = epoch
        self.writer = writer
        history = HistoryCollector(store, epoch: epoch, schedule: schedule)
        begunAt = now
    }

    /// Begins with the next step, unless it is under way.
    mutating func begin() { stage = stage ?? .history }

    /// Begins with the next step, if it is due.
    mutating func beginIfDue(asOf now: Timestamp) {
        guard
            (now.milliseconds - begunAt.milliseconds).magnitude
                >= ReplicationLimits.collectMilliseconds.magnitude
        else { return }
        begin()
    }

    /// Whether the next step begins it: what the last one stepped over is looked at again.
    var isAtBegin: Bool { if case .history = stage { true } else { false } }

    /// A part of it; nothing until it is due.
    ///
    /// - Parameters:
    ///   - log: is told up to where nobody needs segments.
    ///   - inProgress: the segment after which a base is being made.
    ///   - failure: see ``Bucket/delete(_:noting:)``.
    mutating func step(
        _ catalog: inout BaseCatalog, _ log: inout LogCollector, inProgress: UInt64?,
        on bucket: some Bucket, asOf now: Timestamp, noting failure: inout (any Error)?
    ) throws -> BucketMaintenance.Step {
        switch stage {
        case nil: return .nothing
        case .history:
            begunAt = now
            let (kept, deletedCount) = try history.run(
                &catalog, inProgress: inProgress, on: bucket, asOf: now, noting: &failure)
            if let kept {
                // The last one that the base has stays: where the log ends is seen by its names. A start reads from what
                // this store's file knows to be its own.
                let end = min(kept.first.position.number, store.savedSegment + 1)
                log.collect(upTo: max(end, 1) - 1, asOf: now)
            }
            stage = try kept.map {
                .blobs(try BlobCollector(store, epoch: epoch, $0), upTo: $0.first.sequence)
            }
            return .deletedHistory(deletedCount)
        case .blobs(var collector, let sequence):
            let before = collector.deletedCount
            let hasMore = try collector.step(on: bucket)
            failure = collector.failure
            stage =
                hasMore
                ? .blobs(collector, upTo: sequence) : .missing(collector.missing, upTo: sequence)
            return .deletedBlobs(collector.deletedCount - before)
        case .missing(let numbers, let sequence):
            // What cannot be put now is found again by the next collection.
            stage = .retired(upTo: sequence)
            let (count, lost) = try restore(numbers, on: bucket)
            return .restoredBlobs(count, lost: lost)
        case .retired(let sequence):
            let count = try writer.write { (store) throws(StoreError) in
                try store.pruneRetired(upTo: sequence, asOf: now)
            }
            if count < StoreLimits.transactionPutCountMax { stage = nil }
            return .prunedRetired(count)
        }
    }

    /// Puts the objects of these blobs again. Returns how many, and which this store does not have either.
    private func restore(
        _ numbers: Set<UInt64>, on bucket: some Bucket
    ) throws -> (count: Int, lost: [Digest]) {
        var (count, lost) = (0, [Digest]())
        guard !numbers.isEmpty else { return (count, lost) }
        try store.forEachLongBlobs { blobs in
            let missing = blobs.filter { numbers.contains($0.number) }
            let found = try LongBlobs.restore(missing, of: store, on: bucket)
            count += found.count
            lost += found.lost.map(\.digest)
        }
        return (count, lost)
    }
}
