internal import Glibc
internal import LMDB

enum PageCheck {
    /// Walks the pages of `data.mdb` in `directory`: see ``BlobStore/checkPages(at:position:)``.
    static func check(
        _ directory: String, _ extent: PageWalk.Extent, position: WalkPosition? = nil
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
        return PageWalk.report(on: file, asOf: newest, extent) { position?.note(page: $0) }
    }

    /// Checked before a store is opened for writing: a change of damaged trees takes pages that are in use, and
    /// spreads the damage. Throws ``StoreError/cannotOpen(path:reason:)`` with the first page that is damaged.
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
