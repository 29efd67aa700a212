import BlobStore
import Logging
import Replication
import Synchronization

/// Reads the log, writes bases and deletes garbage while this daemon leads; while it follows, looks for payloads that the
/// bucket did not give.
final class BucketMaintenanceThread: Sendable {
    private let context: ShardContext
    private let thread: ServiceThread

    private static let pauseMilliseconds = 1_000
    private static let failurePauseMilliseconds = 5_000

    init(_ context: ShardContext) throws(SystemError) {
        self.context = context
        thread = try ServiceThread()
        try thread.start("blobd-bucket") { [self] in run() }
    }

    func close() { thread.close() }

    private func run() {
        guard let bucket = try? context.access.makeBucket() else { return }
        var failures = FailureLog(context.log)
        var lead = LedMaintenance()
        var damaged: [ObjectProblem] = []
        var payloads: (any Bucket)?
        while !thread.isClosing {
            let leading = context.replica.leadingEpoch.load(ordering: .acquiring)
            var pause = Self.pauseMilliseconds
            do {
                try lead.follow(leading) { (epoch) throws(ReplicationError) in
                    try begin(epoch, on: bucket)
                }
                // Until then, the bucket is not trusted.
                if context.access.isShardChecked,
                    let ungiven = context.replica.ungiven.withLock({ $0 })
                {
                    let reached = try payloads ?? context.access.makeLookBucket()
                    payloads = reached
                    if try ungiven.look(on: reached) { pause = 0 }
                }
                if let step = try lead.maintenance?.step(on: bucket) {
                    if step.isSomething { pause = 0 }
                    if step == .needsSegment {
                        context.replica.wantsSegment.store(true, ordering: .relaxed)
                        context.replica.signal.notify()
                    }
                    if case .lostSegment(let number) = step {
                        context.log.critical(
                            "Segment \(number) of the log is missing from the bucket, damaged or unreadable: making a base, so that followers do not need it. The store cannot be restored to moments between that segment and the base"
                        )
                    }
                    if case .restoredBlobs(let count, let lost) = step {
                        if count > 0 {
                            context.log.warning(
                                "\(count) payloads were missing from the bucket: uploaded them again"
                            )
                        }
                        for digest in lost {
                            context.log.critical(
                                "The bytes of \(digest) are neither in the bucket nor on this host: publish the payload itself again"
                            )
                        }
                    }
                    if case .clockJumped(let milliseconds) = step {
                        context.log.warning(
                            "The wall clock jumped by \(milliseconds / 1_000) s: nothing is deleted from the bucket for \(DeletionClock.pauseMilliseconds / 60_000) minutes"
                        )
                    }
                }
            } catch ReplicationError.stopped {
                // The daemon ends, and other threads take some time for that.
            } catch ReplicationError.deposed {
                // The shipping thread finds out, too.
                lead.maintenance = nil
            } catch {
                failures.note(
                    .warning, of: "maintenance", "Bucket maintenance failed: \(error)")
                pause = Self.failurePauseMilliseconds
            }
            note(lead.maintenance?.damagedBases ?? [], known: &damaged)
            context.replica.problems.withLock { $0.bucket = lead.problem }
            if pause > 0 { thread.wait(milliseconds: pause) }
        }
    }

    /// Names each damaged base once, and counts it while it exists.
    private func note(_ damaged: [ObjectProblem], known: inout [ObjectProblem]) {
        guard damaged != known else { return }
        for base in damaged where !known.contains(base) {
            context.log.warning("A base in the bucket cannot be used: \(base)")
        }
        known = damaged
        context.replica.damagedBaseCount.store(damaged.count, ordering: .relaxed)
    }

    private func begin(
        _ epoch: UInt64, on bucket: any Bucket
    ) throws(ReplicationError) -> BucketMaintenance {
        let options = context.replica.options
        return try BucketMaintenance(
            context.store, epoch: epoch,
            BaseSchedule(
                intervalMilliseconds: Int64(options.baseIntervalMilliseconds),
                retentionMilliseconds: Int64(options.retentionMilliseconds)),
            on: bucket, clock: { .now }, bootMilliseconds: { .bootMilliseconds },
            writer: context.writer)
    }
}

/// The maintenance of the epoch in which this daemon leads.
struct LedMaintenance {
    private var epoch: UInt64 = 0
    /// nil: it leads none, or cannot begin.
    var maintenance: BucketMaintenance?
    /// Why it cannot begin.
    private var beginning: String?

    /// What cannot be done at present; nil: nothing.
    var problem: String? { maintenance?.problem ?? beginning }

    /// - Parameter leading: the epoch in which this daemon leads; 0: it does not.
    mutating func follow(
        _ leading: UInt64,
        begin: (UInt64) throws(ReplicationError) -> BucketMaintenance
    ) throws(ReplicationError) {
        guard leading != epoch || leading == 0 else { return }
        (epoch, maintenance) = (0, nil)
        guard leading > 0 else {
            beginning = nil
            return
        }
        do throws(ReplicationError) { maintenance = try begin(leading) } catch {
            beginning = "cannot look at the bucket: \(error)"
            throw error
        }
        (epoch, beginning) = (leading, nil)
    }
}

extension BucketMaintenance.Step {
    fileprivate var isSomething: Bool {
        switch self {
        case .nothing, .needsSegment, .unknown, .deletedSegments(0): false
        default: true
        }
    }
}
