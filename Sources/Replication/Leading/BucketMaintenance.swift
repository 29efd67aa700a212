package import BlobStore

/// What a leader does in its bucket besides shipping: bases, and deleting what nobody needs any more.
///
/// It belongs to a thread of its own with a client of its own, since uploading a base takes long, and shipping
/// continues meanwhile. Whatever it throws may be tried again with the next step, but
/// ``ReplicationError/deposed(epoch:leader:)``: then it ends.
package struct BucketMaintenance {
    package enum Step: Sendable, Hashable {
        case read(Int)
        case deletedSegments(Int)
        case uploadedBase(BaseManifest)
        case finishedBase(BaseManifest)
        case deletedHistory(Int)
        case deletedBlobs(Int)
        /// The bucket has lost so many objects of long blobs, which were uploaded again; and others, which this store does
        /// not have either.
        case restoredBlobs(Int, lost: [Digest])
        case prunedRetired(Int)
        /// The bucket has lost or damaged a segment that this leader wrote. A base after it is made.
        case lostSegment(UInt64)
        /// The wall clock was set by so many milliseconds: nothing is deleted for ten minutes.
        case clockJumped(milliseconds: Int64)
        /// A base is due, and needs a name of the log that no base was begun after.
        case needsSegment
        case unknown(String)
        case nothing
    }

    private let store: BlobStore
    private let epoch: UInt64
    private let schedule: BaseSchedule
    private let clock: () -> Timestamp
    private let bootMilliseconds: () -> Int64
    private var deletions = DeletionClock()
    var check: LogCheck
    private var log = LogCollector()
    var catalog: BaseCatalog
    private var collection: GarbageCollection
    private var base: BaseWriter?
    /// What was read of the log when the newest base was begun.
    private var readBefore = 0
    var missing: (number: UInt64, lookCount: Int) = (0, 0)
    var isBaseDue = false
    private var lookedAt: Timestamp
    private var lookedAtStore: Timestamp
    /// The first job that failed in this step.
    private var failure: (any Error)?
    /// What the job that is under way stepped over.
    private var skipped: (any Error)?
    private var jobs = BucketJobs()

    /// The maintenance of a leader's bucket. Lists the bases.
    ///
    /// - Parameters:
    ///   - clock: the present, by the clock that the store's changes are stamped with.
    ///   - bootMilliseconds: the boot clock's present (`CLOCK_BOOTTIME`): while the first clock disagrees with it,
    ///     nothing is deleted.
    package init(
        _ store: BlobStore, epoch: UInt64, _ schedule: BaseSchedule, on bucket: some Bucket,
        clock: @escaping () -> Timestamp, bootMilliseconds: @escaping () -> Int64,
        writer: any StoreWriter
    ) throws(ReplicationError) {
        self.store = store
        self.epoch = epoch
        self.schedule = schedule
        self.clock = clock
        self.bootMilliseconds = bootMilliseconds
        let now = clock()
        collection = GarbageCollection(store, epoch: epoch, schedule, writer: writer, asOf: now)
        (lookedAt, lookedAtStore) = (now, now)
        catalog = BaseCatalog(of: store.id.description)
        try catalog.refresh(on: bucket)
        check = LogCheck(
            store, epoch: epoch,
            after: catalog.bases.last?.position ?? store.replicationState?.position ?? .start)
        noteNewestBase()
    }

    /// A clock that was set while no leader ran shows in the newest base: that lies in the future, or far longer
    /// back than bases are apart.
    private mutating func noteNewestBase() {
        guard let newest = catalog.bases.last?.time.milliseconds else { return }
        let age = clock().milliseconds - newest
        let likely = min(max(age, 0), 2 * schedule.intervalMilliseconds)
        _ = deletions.tick(wall: newest, boot: bootMilliseconds() - likely)
    }

    package var bases: [BaseManifest] { catalog.bases }

    /// What is wrong with the bases that do not count, in the order of their segments.
    package var damagedBases: [ObjectProblem] { catalog.problems }

    /// What cannot be done at present, for people; nil: all can.
    package var problem: String? { jobs.problem(asOf: bootMilliseconds()) }

    /// Does what comes next, if anything does: a piece of it, but for the upload of a base, which is one step
    /// however long it takes. A job that fails keeps none of the others: what it throws is thrown when there is nothing
    /// else to do.
    package mutating func step(on bucket: some Bucket) throws -> Step {
        let verdict = deletions.tick(wall: clock().milliseconds, boot: bootMilliseconds())
        if case .jumped(let milliseconds) = verdict {
            return .clockJumped(milliseconds: milliseconds)
        }
        let deletes = verdict == .steady
        failure = nil
        _ = try job(.lookAtStore) { try $0.lookAtStore(on: bucket) }
        _ = try job(.lookAtBases) { try $0.lookAtBases(on: bucket) }
        if let step = try job(.finishBase, { try $0.finishBase(on: bucket) }) { return step }
        // Else the position is of another epoch.
        guard let state = store.replicationState, state.epoch == epoch else { return .nothing }
        let position = state.position
        // Under constant changes there is always something to read and to delete: nothing else waits for that.
        var done: [Step] = []
        if let step = try job(.check, { try $0.checkLog(upTo: position, on: bucket) }) {
            guard case .read = step else { return step }
            done.append(step)
        }
        if deletes, let step = try job(.clean, { try $0.clean(on: bucket) }) { done.append(step) }
        if let step = try job(.uploadBase, { try $0.beginBase(after: position, on: bucket) }) {
            return step
        }
        if deletes, let step = try job(.collect, { try $0.collect(on: bucket) }) {
            done.append(step)
        }
        if let step = done.last(where: { $0 != .nothing }) { return step }
        if let failure { throw failure }
        return isBaseDue(asOf: clock()) ? .needsSegment : .nothing
    }

    /// Runs a job, unless it has failed just now; nil where it does not run, has nothing to do, or has failed. What the
    /// bucket fails with ends the step, and the next one begins with the other jobs: one object that cannot be read or
    /// written keeps none of them, and a bucket that is away is not asked for everything at once.
    private mutating func job(
        _ job: BucketJobs.Job, _ body: (inout Self) throws -> Step?
    ) throws -> Step? {
        let now = bootMilliseconds()
        guard !jobs.isPaused(job, asOf: now) else { return nil }
        skipped = nil
        do {
            let step = try body(&self)
            if let skipped {
                jobs.noteSkipped(skipped, of: job)
                failure = failure ?? skipped
            }
            switch step {
            case nil: break
            // It may be there, but nothing goes on until that is known.
            case .unknown(let why)?:
                jobs.note(ReplicationError.bucket(why), of: job, asOf: now)
            default: jobs.noteSuccess(of: job)
            }
            return step
        } catch StoreError.notLeading {
            // The thread that ships knows it, or finds out.
            return nil
        } catch let error as ReplicationError {
            switch error {
            case .stopped, .deposed: throw error
            case .bucket(_, isLasting: false):
                jobs.note(error, of: job, asOf: now)
                throw error
            default:
                jobs.note(error, of: job, asOf: now)
                failure = failure ?? error
            }
        } catch {
            jobs.note(error, of: job, asOf: now)
            failure = failure ?? error
        }
        return nil
    }

    /// Finds out now and then whether `store.json` is there still, without which no host begins from the bucket. Where it is
    /// not, it is made again.
    private mutating func lookAtStore(on bucket: some Bucket) throws(ReplicationError) -> Step? {
        guard isLookDue(after: lookedAtStore) else { return nil }
        _ = try StoreDocument.makeAgain(of: store.id, on: bucket)
        lookedAtStore = clock()
        return .nothing
    }

    private func isLookDue(after last: Timestamp) -> Bool {
        (clock().milliseconds - last.milliseconds).magnitude
            >= ReplicationLimits.lostBaseLookMilliseconds.magnitude
    }

    /// Finds out now and then whether the bases are there still: where none is, one is made.
    private mutating func lookAtBases(on bucket: some Bucket) throws(ReplicationError) -> Step? {
        guard isLookDue(after: lookedAt) else { return nil }
        lookedAt = clock()
        try catalog.refresh(on: bucket)
        return .nothing
    }

    private mutating func clean(on bucket: some Bucket) throws(ReplicationError) -> Step? {
        do throws(ReplicationError) {
            let count = try log.step(on: bucket, asOf: clock(), noting: &skipped)
            if !log.hasUndeleted { jobs.noteSkipped(nil, of: .clean) }
            return count.map { .deletedSegments($0) }
        } catch {
            if log.hasUndeleted { jobs.noteSkipped(error, of: .clean) }
            throw error
        }
    }

    private func isBaseDue(asOf now: Timestamp) -> Bool {
        base == nil && !jobs.isPaused(.uploadBase, asOf: bootMilliseconds())
            && (isBaseDue
                || schedule.isDue(
                    after: catalog.bases.last,
                    logByteCount: check.byteCount - readBefore, asOf: now))
    }

    private mutating func beginBase(
        after position: LogPosition, on bucket: some Bucket
    ) throws -> Step? {
        guard isBaseDue(asOf: clock()),
            // A name never has other bytes: after a base that was begun there, the next segment is waited
            // for.
            !catalog.hasNames(position.number)
        else { return nil }
        // Without a base nobody has said yet that all long blobs are in the bucket.
        var base = BaseWriter(
            store, after: position, of: epoch, uploadsAllBlobs: catalog.bases.isEmpty)
        let read = check.byteCount
        catalog.begin(position.number)
        do {
            try base.upload(on: bucket, clock: clock)
        } catch {
            // What is there of it is never written over.
            try? catalog.refresh(on: bucket)
            throw error
        }
        guard let manifest = base.manifest else { return nil }
        readBefore = read
        isBaseDue = false
        self.base = base
        return .uploadedBase(manifest)
    }

    private mutating func finishBase(on bucket: some Bucket) throws(ReplicationError) -> Step? {
        guard let base, let manifest = base.manifest else { return nil }
        let outcome: BaseWriter.Outcome
        do throws(ReplicationError) { outcome = try base.finish(on: bucket) } catch {
            // Its name has something else: another one is made.
            if case .damaged = error { self.base = nil }
            throw error
        }
        switch outcome {
        case .waits: return nil
        case .unknown(let why): return .unknown(why)
        case .finished:
            self.base = nil
            catalog.add(manifest)
            collection.begin()
            return .finishedBase(manifest)
        }
    }

    private mutating func collect(on bucket: some Bucket) throws -> Step {
        let now = clock()
        collection.beginIfDue(asOf: now)
        if collection.isAtBegin { jobs.noteSkipped(nil, of: .collect) }
        return try collection.step(
            &catalog, &log, inProgress: base?.number, on: bucket, asOf: now, noting: &skipped)
    }
}
