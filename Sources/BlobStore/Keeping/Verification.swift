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

    /// Whether everything agrees.
    public var isClean: Bool { problemCount == 0 }

    mutating func add(_ problem: String) {
        problemCount += 1
        if problems.count < Self.problemsDescribedMax { problems.append(problem) }
    }
}

extension BlobStore {
    /// Recounts everything and reads every byte: records, references, the index, counters, and each
    /// blob's chunks against their checksums and its digest.
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
        var report = VerifyReport()
        let blobs = try withSnapshot { (snapshot) throws(StoreError) in
            var recount = Recount()
            try snapshot.recountNotifications(&recount, &report)
            try snapshot.recountIndex(&recount, &report)
            try snapshot.recountBlobs(&recount, &report)
            try snapshot.recountOrphans(&recount, &report)
            try snapshot.recountChunks(&recount, &report)
            try snapshot.compareCounters(recount, &report)
            return recount.storedBlobs
        }
        try checkLog(&report)
        var state = VerifyProgress()
        state.blobCount = blobs.count
        state.byteCount = blobs.reduce(0) { $0 + $1.storedByteCount }
        for blob in blobs {
            try check(blob, &report)
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
