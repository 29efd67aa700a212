internal import BlobStore
internal import Synchronization

/// Reads and checks everything in a bucket that a restore within the retention may need: each base, the log after
/// the oldest one, and each payload that any of them names. It continues after what is damaged.
///
/// A leader may work in the bucket meanwhile. It takes about 100 bytes of memory for each payload.
package struct BucketVerifier {
    package struct Report: Sendable, Hashable {
        package var shardID = ""
        package var batches: ClosedRange<UInt64>?
        package var baseCount = 0
        package var segmentCount = 0
        package var payloadCount = 0
        package var byteCount = 0
        package var problems: [ObjectProblem] = []
    }

    private let progress: (BucketProgress) -> Void

    package init(progress: @escaping (BucketProgress) -> Void = { _ in }) {
        self.progress = progress
    }

    private static let attemptCountMax = 3

    /// - Throws: where it cannot be read, and where the prefix has no shard. What is damaged is in the report.
    package func run(on bucket: some Bucket) throws -> Report {
        var attempt = 1
        while true {
            var pass = try Pass(progress, on: bucket)
            try pass.run(on: bucket)
            guard !pass.report.problems.isEmpty, attempt < Self.attemptCountMax,
                try pass.isOutdated(on: bucket)
            else { return pass.report }
            attempt += 1
        }
    }

    private struct Pass {
        private let progress: (BucketProgress) -> Void
        private let storeID: StoreID
        private var catalog: BaseCatalog
        private(set) var report = Report()
        private var blobs: [UInt64: BlobReference] = [:]

        init(_ progress: @escaping (BucketProgress) -> Void, on bucket: some Bucket) throws {
            self.progress = progress
            report.shardID = try StoreDocument.read(on: bucket).storeID
            guard let storeID = StoreID(report.shardID) else {
                throw ReplicationError.damaged(name: ShardNames.store, why: "lacks the store id")
            }
            self.storeID = storeID
            catalog = BaseCatalog(of: report.shardID)
        }

        mutating func run(on bucket: some Bucket) throws {
            try catalog.refresh(on: bucket)
            report.problems += catalog.problems
            guard let oldest = catalog.bases.first else {
                if report.problems.isEmpty {
                    throw ReplicationError.notRestorable(
                        "the bucket contains no base of this shard yet")
                }
                return
            }
            report.batches = oldest.sequence...oldest.sequence
            try verifyBases(on: bucket)
            try verifyLog(after: oldest, on: bucket)
            try verifyBlobs(on: bucket)
        }

        /// Whether a base was deleted meanwhile, also between its LIST and its GET: what was after it may be, too.
        func isOutdated(on bucket: some Bucket) throws -> Bool {
            let listed = catalog.bases.map(\.position.number) + catalog.damaged.keys
            let now = Set(try BaseManifest.numbers(on: bucket))
            return !listed.allSatisfy(now.contains)
        }

        private mutating func noting<Result>(
            _ body: () throws(ReplicationError) -> Result
        ) throws(ReplicationError) -> Result? {
            do throws(ReplicationError) { return try body() } catch {
                guard let problem = error.problem else { throw error }
                report.problems.append(problem)
                return nil
            }
        }

        // MARK: - Bases

        private mutating func verifyBases(on bucket: some Bucket) throws {
            let total = catalog.bases.reduce(0) { $0 + $1.byteCount }
            for manifest in catalog.bases {
                var reader = BaseReader(manifest)
                var found: [BlobReference] = []
                do {
                    try BlobStore.forEachLongBlob(ofBase: { buffer, byteCountMax in
                        try reader.read(into: &buffer, byteCountMax: byteCountMax, on: bucket)
                    }) { found.append($0) }
                } catch let error as ReplicationError {
                    guard let problem = error.problem else { throw error }
                    report.problems.append(problem)
                } catch {
                    let name = ShardNames.manifest(manifest.position.number)
                    let why = "names parts that do not form a base: \(error)"
                    report.problems.append(ObjectProblem(name: name, why: why))
                }
                for blob in found { blobs[blob.number] = blob }
                report.baseCount += 1
                report.byteCount += manifest.byteCount
                progress(
                    BucketProgress(phase: "reading bases", done: report.byteCount, total: total))
            }
        }

        // MARK: - The log

        /// Reads each segment. Where one is damaged or missing, the chain is followed again from the next one on.
        private mutating func verifyLog(
            after oldest: BaseManifest, on bucket: some Bucket
        ) throws {
            let begin = oldest.position.number
            let names = try bucket.names(ShardNames.logPrefix, after: ShardNames.log(begin))
            let numbers = names.compactMap { ShardNames.number($0, after: ShardNames.logPrefix) }
            let end = max(numbers.last ?? 0, catalog.bases.last?.position.number ?? 0)
            var chain = Chain(storeID: storeID, last: oldest.position)
            // What was read after `chain.next`, several names at once.
            var ahead: ArraySlice<Result<Segment?, ReplicationError>> = []
            var readAhead = ReadAhead()
            while chain.next <= end {
                progress(
                    BucketProgress(
                        phase: "reading the log", done: Int(chain.next - begin),
                        total: Int(end - begin), isCount: true))
                let next = chain.next
                if ahead.isEmpty {
                    let last = min(end + 1, next + UInt64(readAhead.count))
                    ahead = try Segment.read(next..<last, on: bucket)
                    readAhead.note(ahead.compactMap { try? $0.get() }, of: Int(last - next))
                }
                let found = ahead.removeFirst()
                switch try noting({ () throws(ReplicationError) in try found.get() }) {
                case .some(let segment?): add(segment, &chain, of: oldest)
                case nil: chain.skip(to: next + 1)
                case .some(nil):
                    ahead = []
                    let found = numbers.first { $0 > next } ?? end + 1
                    let others = found - next - 1
                    report.problems.append(
                        ObjectProblem(
                            name: ShardNames.log(next),
                            why: others == 0
                                ? "is missing" : "is missing, as are the \(others) after it"))
                    chain.skip(to: found)
                }
            }
            report.batches = oldest.sequence...max(oldest.sequence, chain.sequence)
        }

        private mutating func add(
            _ segment: Segment, _ chain: inout Chain, of oldest: BaseManifest
        ) {
            report.segmentCount += 1
            report.byteCount += segment.bytes.count
            if let why = chain.take(segment) {
                let name = ShardNames.log(segment.head.number)
                report.problems.append(ObjectProblem(name: name, why: why))
            }
            // What batches before the base's moment stored may be gone, unless the base has it.
            let batches = segment.items.map(\.batch).filter { $0.sequence > oldest.sequence }
            for blob in batches.flatMap(\.longBlobs) { blobs[blob.number] = blob }
        }

        // MARK: - Payloads

        private mutating func verifyBlobs(on bucket: some Bucket) throws {
            let all = blobs.values.sorted { $0.number < $1.number }
            let total = all.reduce(0) { $0 + $1.storedByteCount }
            let storeID = storeID
            let problems = Mutex<[ObjectProblem]>([])
            var done = 0
            try LongBlobs.inGroups(all) { group in
                try bucket.forEach(group.count) { index, bucket in
                    do throws(ReplicationError) {
                        _ = try LongBlobs.bytes(of: group[index], in: storeID, on: bucket)
                    } catch {
                        guard let problem = error.problem else { throw error }
                        problems.withLock { $0.append(problem) }
                    }
                }
                done += group.reduce(0) { $0 + $1.storedByteCount }
                progress(BucketProgress(phase: "reading payloads", done: done, total: total))
            }
            report.payloadCount = all.count
            report.byteCount += total
            report.problems += problems.withLock { $0.sorted { $0.name < $1.name } }
        }
    }
}

private struct Chain {
    let storeID: StoreID
    private(set) var next: UInt64
    private(set) var sequence: UInt64 = 0
    private var last: LogPosition?

    init(storeID: StoreID, last: LogPosition) {
        self.storeID = storeID
        self.last = last
        next = last.number + 1
    }

    /// - Returns: what is wrong with its place in the log; nil: nothing.
    mutating func take(_ segment: Segment) -> String? {
        let isBehind = last.map { $0 == segment.head.previous } ?? true
        last = segment.position
        next = segment.head.number + 1
        sequence = max(sequence, segment.head.sequence)
        if segment.head.storeID != storeID { return "belongs to the store \(segment.head.storeID)" }
        return isBehind ? nil : "does not continue the previous segment"
    }

    /// Continues with a later segment, if that is not reached yet: what it is after is not known then.
    mutating func skip(to number: UInt64) {
        guard next < number else { return }
        next = number
        last = nil
    }
}
