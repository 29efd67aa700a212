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

    /// Adds a problem, in words.
    package mutating func add(_ problem: String) {
        problemCount += 1
        if problems.count < Self.problemsDescribedMax { problems.append(problem) }
    }

    /// Adds what is wrong with the pages.
    package mutating func add(pages report: VerifyReport) {
        for problem in report.problems { add(problem) }
        problemCount += report.problemCount - report.problems.count
        pageProblemCount += report.problemCount
    }
}

extension BlobStore {
    /// Walks all pages, recounts everything and reads every byte: records, references, the index,
    /// counters, what else `meta` has, and each blob's chunks against their checksums and its digest.
    ///
    /// Where pages are damaged nothing more is looked at: liblmdb does not check what they say, and a
    /// walk over their entries may be the end of the process. `blobd verify` does that in another.
    ///
    /// The counting sees one snapshot. Blobs are read in a snapshot each, so that a verification
    /// beside a daemon does not make the file grow; one that is deleted meanwhile is left out.
    /// Reads the whole store, and keeps about 150 bytes a blob in memory.
    ///
    /// - Parameter progress: called after each blob.
    /// - Returns: what was found; damage is in the report, not thrown.
    /// - Throws: ``StoreError/readersFull``, or what keeps the tables from being walked at all.
    public func verify(
        progress: (VerifyProgress) -> Void = { _ in }
    ) throws(StoreError) -> VerifyReport {
        try verify(.bytes, goesOnBehindDamage: false, progress: progress)
    }

    /// How far a verification goes.
    package enum VerifyDepth: Sendable {
        /// All entries of all tables.
        case entries
        /// The bytes of all blobs, too.
        case bytes
    }

    /// The same, also of less.
    ///
    /// - Parameters:
    ///   - goesOnBehindDamage: whether entries are looked at where pages are damaged, which may end
    ///     the process.
    ///   - found: called with what was found so far, after each table and each blob.
    package func verify(
        _ depth: VerifyDepth, goesOnBehindDamage: Bool, found: (VerifyReport) -> Void = { _ in },
        progress: (VerifyProgress) -> Void = { _ in }
    ) throws(StoreError) -> VerifyReport {
        var report = VerifyReport()
        report.add(pages: try checkPages())
        found(report)
        guard report.isClean || goesOnBehindDamage else { return report }
        let blobs = try withSnapshot { (snapshot) throws(StoreError) in
            var recount = Recount()
            try snapshot.checkMeta(&report)
            found(report)
            try snapshot.recountNotifications(&recount, &report)
            found(report)
            try snapshot.recountIndex(&recount, &report)
            found(report)
            try snapshot.recountBlobs(&recount, &report)
            found(report)
            try snapshot.recountOrphans(&recount, &report)
            found(report)
            try snapshot.recountChunks(&recount, &report)
            found(report)
            try snapshot.compareCounters(recount, &report)
            return recount.storedBlobs
        }
        guard depth == .bytes else { return report }
        try checkLog(&report)
        var state = VerifyProgress()
        state.blobCount = blobs.count
        state.byteCount = blobs.reduce(0) { $0 + $1.storedByteCount }
        for blob in blobs {
            let digest = blob.digest.rawWords
            options.walkPlace?.note(tables.blobs.name, digest.span.bytes)
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
            report.changesInLog = try inspectLog().changeCount
        } catch {
            guard case .corrupt(let reason) = error else { throw error }
            report.add(reason)
        }
    }

    /// Reads all of a blob, unless it has gone meanwhile.
    private func check(_ blob: BlobReference, _ report: inout VerifyReport) throws(StoreError) {
        let problem = try withSnapshot { (snapshot) throws(StoreError) -> String? in
            let entry: BlobEntry?
            do throws(StoreError) {
                entry = try snapshot.blobEntry(blob.digest)
            } catch {
                // The recount has said so.
                return nil
            }
            guard entry?.number == blob.number else { return nil }
            do throws(StoreError) {
                try snapshot.checkBytes(of: blob)
                return nil
            } catch {
                return error.description
            }
        }
        report.bytesStored += blob.storedByteCount
        if let problem { report.add(problem) }
    }
}
