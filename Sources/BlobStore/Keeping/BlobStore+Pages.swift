internal import Glibc
internal import LMDB

extension BlobStore {
    /// Walks the pages of `data.mdb` in `directory` without opening the store: reads only, by
    /// `pread`, so that no page can end the process. Nobody may write to the store meanwhile.
    ///
    /// - Returns: what is wrong with the structure; nothing is looked at beyond it.
    /// - Throws: ``StoreError/cannotOpen(path:reason:)``.
    package static func checkPages(
        at directory: String, place: WalkPlace? = nil
    ) throws(StoreError) -> VerifyReport {
        try checkPages(at: directory, .all, place: place)
    }

    private static func checkPages(
        at directory: String, _ extent: PageWalk.Extent, place: WalkPlace? = nil
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
        return PageWalk.report(on: file, asOf: newest, extent) { place?.note(page: $0) }
    }

    /// What is looked at before a store is opened for writing: whoever writes into trees that are
    /// damaged takes pages that are in use, and spreads the damage.
    ///
    /// - Throws: ``StoreError/cannotOpen(path:reason:)`` with the first page that is damaged.
    static func checkBeforeWriting(_ directory: String) throws(StoreError) {
        let report = try checkPages(
            at: directory, .start(leafCountMax: StoreLimits.leafPagesReadAtStartMax))
        guard let first = report.problems.first else { return }
        let more = report.problemCount > 1 ? " (and \(report.problemCount - 1) more)" : ""
        throw .cannotOpen(
            path: directory,
            reason:
                "\(DataFile.name) is damaged: \(first)\(more). Nothing was changed. Restore the "
                + "directory from a backup; `blobd verify` lists all damage")
    }

    /// Calls `body` while nobody else can open the store for writing; nil when somebody has.
    package static func whileLocked<Result>(
        _ directory: String, _ body: () throws -> Result
    ) rethrows -> Result? {
        guard let lock = try? DirectoryLock(directory) else { return nil }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    /// The same for a store that is open, as of one snapshot, also while others write to it.
    func checkPages() throws(StoreError) -> VerifyReport {
        guard let file = PageFile(environment.dataDescriptor) else {
            var report = VerifyReport()
            report.add("page 0: is not a meta page")
            return report
        }
        // A meta page is written over two commits later; by then the snapshot is anew.
        for _ in 0..<Self.snapshotTriesMax {
            let report = try withSnapshot { (snapshot) throws(StoreError) -> VerifyReport? in
                let transaction = snapshot.transaction.id
                let metas = file.metas().compactMap { $0 }
                guard let meta = metas.first(where: { $0.transaction == transaction }) else {
                    return nil
                }
                return PageWalk.report(on: file, asOf: meta) { [options] page in
                    options.walkPlace?.note(page: page)
                }
            }
            if let report { return report }
        }
        var report = VerifyReport()
        report.add("no meta page has the last commit")
        return report
    }

    private static let snapshotTriesMax = 100
}
