internal import Glibc
internal import Hashing
internal import LMDB

/// How far a verification is.
public struct VerifyProgress: Sendable, Hashable {
    /// Blobs whose bytes were read.
    public var blobs = 0
    /// Blobs there are.
    public var blobCount = 0
    /// Stored bytes that were read.
    public var bytes = 0
    /// Stored bytes there are.
    public var byteCount = 0
}

/// What a verification found.
public struct VerifyReport: Sendable, Hashable {
    /// How many problems are described; the others are only counted.
    public static let problemsDescribedMax = 100

    /// Notifications that were looked at.
    public var notifications = 0
    /// Their parts.
    public var parts = 0
    /// Blobs that were looked at.
    public var blobs = 0
    /// Orphans that were looked at.
    public var orphans = 0
    /// Stored bytes whose checksums and digests were computed.
    public var bytesStored = 0
    /// Blobs whose bytes are in the bucket of the store's shard, and not here.
    public var evictedBlobs = 0
    /// Problems that are blobs known to be damaged here, and not sent.
    var quarantinedBlobs = 0
    /// Acknowledged changes that are only in the log (`changes.log`).
    public var changesInLog = 0
    /// What is wrong, in words: the first ``problemsDescribedMax``.
    public var problems: [String] = []
    /// How many things are wrong.
    public var problemCount = 0

    /// How many of them are of the pages themselves: what is on them, or below, cannot be trusted.
    public var pageProblemCount = 0

    /// A report on nothing.
    public init() {}

    /// Whether everything agrees.
    public var isClean: Bool { problemCount == 0 }

    package mutating func add(_ problem: String) {
        problemCount += 1
        if problems.count < Self.problemsDescribedMax { problems.append(problem) }
    }

    package mutating func add(pages report: VerifyReport) {
        for problem in report.problems { add(problem) }
        problemCount += report.problemCount - report.problems.count
        pageProblemCount += report.problemCount
    }
}

/// Looks at everything that a store has: ``BlobStore/verify(progress:)``.
package struct Verifier {
    let core: StoreCore
    let log: LogReader

    init(_ core: StoreCore, _ log: LogReader) {
        self.core = core
        self.log = log
    }

    package enum Depth: Sendable {
        /// All entries of all tables.
        case entries
        /// The bytes of all blobs, too.
        case bytes
    }

    func verify(
        _ depth: Depth, continuesPastDamage: Bool, found: (VerifyReport) -> Void,
        progress: (VerifyProgress) -> Void
    ) throws(StoreError) -> VerifyReport {
        var report = VerifyReport()
        report.add(pages: try Self.checkPages(of: core))
        found(report)
        guard report.isClean || continuesPastDamage else { return report }
        let blobs = try core.withSnapshot { (snapshot) throws(StoreError) in
            let recount = Recount()
            recount.report = report
            defer { report = recount.report }
            try snapshot.checkMeta(recount)
            found(recount.report)
            try snapshot.collectQuarantined(recount)
            try snapshot.recountNotifications(recount)
            found(recount.report)
            try snapshot.recountIndex(recount)
            found(recount.report)
            try snapshot.recountBlobs(recount)
            found(recount.report)
            try snapshot.recountStates(recount)
            found(recount.report)
            try snapshot.recountChunks(recount)
            found(recount.report)
            try snapshot.compareCounters(recount)
            return recount.storedBlobs
        }
        guard depth == .bytes else { return report }
        try checkLog(&report)
        var state = VerifyProgress()
        state.blobCount = blobs.count
        state.byteCount = blobs.reduce(0) { $0 + $1.storedByteCount }
        for blob in blobs {
            let digest = blob.digest.rawWords
            core.options.walkPosition?.note(core.tables.blobs.name, digest.span.bytes)
            try check(blob, &report)
            found(report)
            state.blobs += 1
            state.bytes += blob.storedByteCount
            progress(state)
        }
        return report
    }

    /// Counts what is only in the log; one that is not what `data.mdb` says is a problem.
    private func checkLog(_ report: inout VerifyReport) throws(StoreError) {
        do throws(StoreError) {
            report.changesInLog = try log.contents().changeCount
        } catch {
            guard case .corrupt(let reason) = error else { throw error }
            report.add(reason)
        }
    }

    /// Reads all of a blob, unless it has gone meanwhile.
    private func check(_ blob: BlobReference, _ report: inout VerifyReport) throws(StoreError) {
        try core.withSnapshot { (snapshot) throws(StoreError) in
            var problem: StoreError?
            // An entry that cannot be read was named by the recount.
            if (try? snapshot.liveBlob(blob.digest, number: blob.number)) != nil {
                do throws(StoreError) { try snapshot.checkBytes(of: blob) } catch {
                    // The bucket has its bytes; chunks that are here may be of any attempt to fetch them.
                    if case .evicted = error { return }
                    if try snapshot.state(of: blob.number, in: .inBucket) != nil { return }
                    problem = error
                }
            }
            report.bytesStored += blob.storedByteCount
            guard let problem else { return }
            let isQuarantined = try snapshot.state(of: blob.number, in: .damaged) != nil
            if isQuarantined { report.quarantinedBlobs += 1 }
            report.add(problem.description + (isQuarantined ? " (quarantined)" : ""))
        }
    }

    static func checkPages(of core: StoreCore) throws(StoreError) -> VerifyReport {
        guard let file = PageFile(core.environment.dataDescriptor) else {
            var report = VerifyReport()
            report.add("page 0: is not a meta page")
            return report
        }
        // A meta page is written over two commits later; by then there is a new snapshot.
        for _ in 0..<snapshotTriesMax {
            let report = try core.withSnapshot { (snapshot) throws(StoreError) -> VerifyReport? in
                let transaction = snapshot.transaction.id
                let metas = file.metas().compactMap { $0 }
                guard let meta = metas.first(where: { $0.transaction == transaction }) else {
                    return nil
                }
                return PageWalk.report(on: file, asOf: meta) { page in
                    core.options.walkPosition?.note(page: page)
                }
            }
            if let report { return report }
        }
        var report = VerifyReport()
        report.add(noMetaPage)
        return report
    }

    /// Said where commits follow each other faster than a look at the meta pages, too.
    static let noMetaPage = "no meta page has the last commit"

    private static let snapshotTriesMax = 100
}

extension Snapshot {
    /// Inflates a blob from each of its restart points to the next, and compares the digest of all these bytes.
    borrowing func checkRestartPoints(of blob: BlobReference) throws(StoreError) {
        let points = RestartPoints(byteCount: blob.byteCount)
        let reader = ChunkReader(self)
        guard blob.coding == .gzip, points.count > 0,
            try RestartPoints.point(before: blob.byteCount, of: blob, reader) != nil
        else { return }
        var hash = SHA256()
        var buffer: [UInt8] = []
        for index in 0...points.count {
            let start = index * points.interval
            let end = min(start + points.interval, blob.byteCount)
            let inflater = try Inflater(blob, before: start, reader)
            guard inflater.position == start else {
                throw .corrupt("restart point \(index) of \(blob.digest)")
            }
            while inflater.position < end {
                buffer.removeAll(keepingCapacity: true)
                let wanted = min(Inflater.pieceByteCount, end - inflater.position)
                let count = try inflater.read(from: reader, into: &buffer, byteCountMax: wanted)
                guard count > 0 else { throw .corrupt("\(blob.digest) is truncated") }
                hash.update(buffer)
            }
        }
        guard Digest(hash.digest()) == blob.digest else {
            throw .corrupt("a restart point of \(blob.digest) is at another position")
        }
    }
}

enum PageCheck {
    /// Walks the pages of `data.mdb` in `directory`: see ``BlobStore/checkPages(at:)``.
    static func check(
        _ directory: String, _ extent: PageWalk.Extent
    ) throws(StoreError) -> VerifyReport {
        let path = "\(directory)/\(DataFile.name)"
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .cannotOpen(path: directory, reason: "\(path): \(systemMessage(errno))")
        }
        defer { close(descriptor) }
        guard let file = PageFile(descriptor) else {
            throw .cannotOpen(path: directory, reason: "\(path) is not an LMDB file")
        }
        let metas = file.metas().compactMap { $0 }
        guard let newest = metas.max(by: { $0.transaction < $1.transaction }) else {
            throw .cannotOpen(path: directory, reason: "\(path) has damaged meta pages")
        }
        return PageWalk.report(on: file, asOf: newest, extent)
    }

    /// Checked before a store is opened for writing: a change of damaged trees takes pages that are in use, and
    /// spreads the damage.
    static func beforeWriting(_ directory: String) throws(StoreError) {
        let report = try check(
            directory, .start(leafCountMax: StoreLimits.leafPagesReadAtStartMax))
        guard let first = report.problems.first else { return }
        let more = report.problemCount > 1 ? " (and \(report.problemCount - 1) more)" : ""
        throw .cannotOpen(
            path: directory,
            reason:
                "\(DataFile.name) is damaged: \(first)\(more). Nothing was changed. Restore the "
                + "directory from a backup; `blobd verify` lists all damage")
    }
}
