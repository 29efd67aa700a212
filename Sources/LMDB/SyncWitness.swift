internal import CLMDB
internal import Glibc

/// A descriptor of `data.mdb` that nothing else syncs: it tells afterwards whether pages were lost.
///
/// liblmdb answers a failed commit with an error number, and not with the call that it is of. The kernel reports pages
/// that it could not write back once to each open file (`errseq_t`, Linux 4.13): after a sync of liblmdb's descriptor
/// failed, a sync of this one fails as well. Where that succeeds no page is lost, and it was a write that failed.
final class SyncWitness: Sendable {
    /// -1: it could not be opened.
    private let descriptor: Int32

    init(directory: String) {
        descriptor = unsafe open("\(directory)/data.mdb", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether all that was written to the file can still be synced. Syncs it. False where that is not known.
    func isEverythingKept() -> Bool { descriptor >= 0 && fdatasync(descriptor) == 0 }
}

extension Environment {
    /// Whether a commit that failed left nothing behind: no sync failed, and no meta page was written in part, after
    /// which liblmdb begins no transaction any more (`MDB_PANIC`). One sync. Only while no change is under way, and
    /// only once: see ``SyncWitness``.
    package func hasFailedCleanly() -> Bool {
        guard let witness else { return false }
        do throws(LMDBError) {
            _ = try beginWrite()
        } catch {
            return false
        }
        return witness.isEverythingKept()
    }
}
