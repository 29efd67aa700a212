internal import LMDB
internal import Synchronization

/// Payloads of notifications, content-addressed, in one LMDB file.
///
/// A blob is stored once, however many notifications refer to it. A change that was answered is on
/// disk. A read costs two B-tree lookups and no copy, and never returns what has expired.
///
/// It is open until its last reference, and that of its last snapshot and lease, is gone.
///
/// ```swift
/// let store = try BlobStore.open(at: "data")
/// var writer = store.makePayloadWriter()
/// try writer.append(image.span.bytes)
/// let payload = try writer.finish(mediaType: "image/png")
/// try store.publish(
///     Publication(id: "42", payload: payload, expiry: .at(now.adding(seconds: 3_600))), asOf: now)
/// let sum = try store.withPayload(for: "42", asOf: now) { payload in payload.byteCount }
/// ```
public final class BlobStore: Sendable {
    /// How a store is opened.
    public typealias Options = StoreOptions

    /// Which store it is; made when it was created.
    public var id: StoreID { core.id }

    /// The folder it is in.
    public var directory: String { core.directory }

    /// How it was opened.
    public var options: Options { core.options }

    /// True when it was opened by ``openReadOnly(at:options:)``.
    public var isReadOnly: Bool { core.environment.isReadOnly }

    /// Who waits for which owner's changes.
    public let feedWatch: FeedWatch

    /// What was acknowledged and is not committed, as other processes see it.
    package let pendingCounts: PendingCounts

    // The parts. Each knows those before it, and none knows this type.

    /// The tables, and what all parts share.
    let core: StoreCore
    let log: LogReader
    let pipeline: CommitPipeline
    /// Commits what is in the log; nil: the store was opened without one (``StoreOptions/usesWriteAheadLog``).
    package let checkpoints: CheckpointThread?

    init(
        _ environment: Environment, tables: Tables, format: FormatRecord,
        predecessors: Predecessors, directory: String, options: Options, lock: DirectoryLock?,
        pendingCounts: PendingCounts
    ) throws(StoreError) {
        core = StoreCore(
            environment, tables: tables, id: format.storeID, predecessors: predecessors,
            directory: directory, options: options, lock: lock)
        self.pendingCounts = pendingCounts
        log = LogReader(core: core, pending: pendingCounts)
        feedWatch = FeedWatch(FeedWatch.Limits(options))
        let pipeline = CommitPipeline(core, log, feedWatch)
        self.pipeline = pipeline
        let isLogging = options.usesWriteAheadLog && !environment.isReadOnly
        do throws(SystemError) {
            checkpoints = try isLogging ? CheckpointThread(pipeline) : nil
        } catch {
            pendingCounts.unmap()
            throw StoreError(error)
        }
    }

    deinit {
        // What cannot be committed stays in the log, and the next opening commits it.
        if let checkpoints, !checkpoints.isClosed { try? close() }
        pendingCounts.unmap()
    }

    /// Takes over what may change while a store is open. What is under way keeps its limits. From any thread.
    package func adjust(to options: Options) {
        core.adjustable.withLock { $0 = AdjustableOptions(options) }
        feedWatch.limits = FeedWatch.Limits(options)
    }
}
