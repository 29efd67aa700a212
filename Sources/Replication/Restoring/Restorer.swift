package import BlobStore
internal import Bytes

/// Makes a store of what a bucket has of a shard: as it was after one batch.
///
/// The newest base at or before that batch, and then each segment up to it, in a work folder; everything is
/// checked as it is read. The result is copied into a store of its own, as from a backup, and so needs
/// twice the room meanwhile.
package struct Restorer {
    package enum Target: Sendable, Hashable {
        case end
        case sequence(UInt64)
        /// Up to the last batch before the first one, in the log's order, that is later than a moment.
        case time(Timestamp)
    }

    package struct Restored: Sendable, Hashable {
        package var shardID: String
        package var base: UInt64
        package var sequence: UInt64
        /// When that was done, by its leader's clock. Of a base without a batch after it: when the base
        /// was made.
        package var time: Timestamp
        package var segment: UInt64
        package var batchCount: UInt64
        /// Bases that cannot be used: it began with another one, where one of them was meant.
        package var skipped: [ObjectProblem]
        package var storeID: String?
    }

    private let target: Target
    private let options: StoreOptions
    private let now: Timestamp
    private let progress: (BucketProgress) -> Void

    package static let workName = "restore.new"
    private static let stepByteCount = 4 << 20

    package init(
        _ target: Target, options: StoreOptions = StoreOptions(), asOf now: Timestamp,
        progress: @escaping (BucketProgress) -> Void = { _ in }
    ) {
        self.target = target
        var options = options
        options.isReplicated = true
        self.options = options
        self.now = now
        self.progress = progress
    }

    /// Restores into a folder that has no store. A power cut leaves the whole store, or none; what it leaves of
    /// the work folder is removed by the next restore.
    ///
    /// - Parameter directory: is made if it is not there. The new store has an id of its own, as one that is restored
    ///   from a backup, and is not replicated.
    /// - Throws: ``ReplicationError/notRestorable(_:)`` when the bucket does not go back so far, or not so far on; else
    ///   what names the object that is missing or damaged. The folder has no store then.
    package func restore(to directory: String, from bucket: some Bucket) throws -> Restored {
        try BlobStore.requireNoStore(in: directory)
        return try working(in: "\(directory)/\(Self.workName)", from: bucket) { store, restored in
            try BlobStore.restore(store, to: directory, asOf: now) {
                progress(BucketProgress(phase: "writing the store", done: $0, total: $1))
            }
            let new = try BlobStore.openReadOnly(at: directory, options: options)
            restored.storeID = new.id.description
        }
    }

    /// Does all of it but the new store, verifies what that would have, and leaves nothing.
    package func verify(in directory: String, from bucket: some Bucket) throws -> Restored {
        try working(in: directory, from: bucket) { store, _ in
            let report = try store.verify(.bytes, continuesPastDamage: true)
            guard let problem = report.problems.first else { return }
            throw StoreError.corrupt(
                "the restored store has \(report.problemCount) problems: \(problem)")
        }
    }

    /// Builds the store in a folder that is removed when nobody uses it any more.
    private func working(
        in folder: String, from bucket: some Bucket,
        _ body: (BlobStore, inout Restored) throws -> Void
    ) throws -> Restored {
        func built() throws -> Restored {
            var (store, restored) = try build(in: folder, from: bucket)
            try body(store, &restored)
            return restored
        }
        try BlobStore.removeStore(at: folder)
        defer { try? BlobStore.removeStore(at: folder) }
        return try built()
    }

    private func build(
        in directory: String, from bucket: some Bucket
    ) throws -> (BlobStore, Restored) {
        let shardID = try StoreDocument.read(on: bucket).storeID
        var catalog = BaseCatalog(of: shardID)
        try catalog.refresh(on: bucket)
        let (manifest, skipped) = try seed(directory, catalog, from: bucket)
        let store = try BlobStore.open(at: directory, options: options)
        var restored = Restored(
            shardID: shardID, base: manifest.position.number, sequence: manifest.sequence,
            time: manifest.time, segment: manifest.position.number, batchCount: 0, skipped: skipped)
        var log = LogFollower(storeID: store.id, after: manifest.position)
        var step = Step()
        while !isReached(restored.sequence) {
            guard let segment = try next(&log, on: bucket) else { break }
            restored.segment = segment.head.number
            let items = wanted(segment.items, after: restored.sequence)
            if let last = items.last?.batch {
                restored.batchCount += UInt64(items.count)
                (restored.sequence, restored.time) = (last.sequence, last.time)
            }
            step.add(items, of: segment)
            if step.byteCount >= Self.stepByteCount {
                try step.apply(to: store, on: bucket)
                if let wantedSequence {
                    progress(
                        BucketProgress(
                            phase: "applying batches", done: Int(clamping: restored.sequence),
                            total: Int(clamping: wantedSequence), isCount: true))
                }
            }
            let hasLater = segment.items.contains { $0.batch.sequence > restored.sequence }
            if hasLater { break }
        }
        try step.apply(to: store, on: bucket)
        if let wanted = wantedSequence, restored.sequence < wanted {
            throw ReplicationError.notRestorable(
                "batch \(wanted) does not exist: the log ends with batch \(restored.sequence) of \(RFC3339.text(restored.time.milliseconds))"
            )
        }
        return (store, restored)
    }

    /// Makes the store of the newest base at or before the target that is whole. The log continues from any.
    private func seed(
        _ directory: String, _ catalog: BaseCatalog, from bucket: some Bucket
    ) throws -> (BaseManifest, skipped: [ObjectProblem]) {
        var skipped = catalog.problems
        for manifest in try bases(of: catalog).reversed() {
            do {
                try Seeder.seed(
                    directory, options: options, from: manifest, asOf: now, on: bucket,
                    progress: {
                        progress(BucketProgress(phase: "reading the base", done: $0, total: $1))
                    })
                return (manifest, skipped)
            } catch let error as ReplicationError {
                guard let problem = error.problem, problem.name.hasPrefix(ShardNames.basePrefix)
                else { throw error }
                skipped.append(problem)
            }
        }
        throw ReplicationError.notRestorable(
            "no base is usable: \(skipped.map(\.description).joined(separator: "; "))")
    }

    private func next(
        _ log: inout LogFollower, on bucket: some Bucket
    ) throws(ReplicationError) -> Segment? {
        do throws(ReplicationError) {
            return try log.next(on: bucket, looksForBase: true)
        } catch {
            guard case .tooOld(let position) = error else { throw error }
            throw .damaged(
                name: ShardNames.log(position + 1),
                why: "is missing, but a base after it exists")
        }
    }

    private var wantedSequence: UInt64? {
        if case .sequence(let sequence) = target { sequence } else { nil }
    }

    private func isReached(_ sequence: UInt64) -> Bool {
        wantedSequence.map { sequence >= $0 } ?? false
    }

    private func wanted(_ items: [Segment.Item], after sequence: UInt64) -> [Segment.Item] {
        let new = items.drop { $0.batch.sequence <= sequence }
        return Array(
            new.prefix { item in
                switch target {
                case .end: true
                case .sequence(let last): item.batch.sequence <= last
                case .time(let last): item.batch.time <= last
                }
            })
    }

    /// The bases that have nothing later than the target, in the order of their segments; at least one.
    private func bases(of catalog: BaseCatalog) throws(ReplicationError) -> [BaseManifest] {
        let all = catalog.bases
        guard let oldest = all.first else {
            guard let damaged = catalog.problems.first else {
                throw .notRestorable(
                    "the bucket contains no base of this shard yet")
            }
            throw .damaged(name: damaged.name, why: damaged.why)
        }
        let found =
            switch target {
            case .end: all[...]
            case .sequence(let last): all.prefix { $0.sequence <= last }
            case .time(let last): all.prefix { $0.time <= last }
            }
        guard found.isEmpty else { return Array(found) }
        let damaged = catalog.problems.map { "; \($0)" }.joined()
        throw .notRestorable(
            "every base is later: the oldest is of \(RFC3339.text(oldest.time.milliseconds)), after batch \(oldest.sequence)\(damaged)"
        )
    }

    /// Segments that are applied together: a transaction each would take a sync each.
    private struct Step {
        private var items: [Segment.Item] = []
        private var last: Segment?
        private(set) var byteCount = 0

        mutating func add(_ new: [Segment.Item], of segment: Segment) {
            items += new
            last = segment
            byteCount += segment.bytes.count
        }

        mutating func apply(to store: BlobStore, on bucket: some Bucket) throws {
            guard let last, !items.isEmpty else { return }
            let applier = SegmentApplier(store, writer: DirectWriter(store))
            try applier.apply(items, of: last.head.epoch, at: last.position, on: bucket)
            self = Step()
        }
    }
}

package struct BucketProgress: Sendable, Hashable {
    package var phase: String
    package var done: Int
    package var total: Int
    package var isCount = false
}
