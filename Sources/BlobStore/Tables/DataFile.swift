internal import Bytes
internal import Glibc
internal import LMDB

/// What can be known of a `data.mdb` before LMDB maps it. A map of a file that was cut short is a
/// signal when it is read, so the file is looked at first.
///
/// LMDB 0.9 begins with two meta pages; the one with the higher transaction number counts.
struct DataFile {
    /// Bytes up to and with the last page in use.
    let usedByteCount: Int

    static let name = "data.mdb"
    static let lockName = "lock.mdb"
    /// How many changes are in the log alone.
    static let pendingName = "changes.pending"

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Checks the file at `path`. It is read, never changed.
    init(_ path: String, directory: String) throws(StoreError) {
        func refuse(_ reason: String) -> StoreError {
            .cannotOpen(path: directory, reason: "\(path) \(reason)")
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw refuse(systemMessage(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw refuse("is not a regular file") }
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw refuse(systemMessage(errno)) }
        defer { close(descriptor) }

        let first = Self.read(descriptor, at: 0)
        guard let one = PageFile.Meta(first.span.bytes) else {
            throw refuse("is not an LMDB file; it was not changed")
        }
        let second = Self.read(descriptor, at: one.pageByteCount)
        guard let two = PageFile.Meta(second.span.bytes), two.pageByteCount == one.pageByteCount
        else {
            throw refuse("has a damaged second meta page; it was not changed")
        }
        // Commits write them in turn, and pages are never released; so a flipped bit shows. Of a
        // file without a commit both are the same.
        let isNew = one.transaction == 0 && two.transaction == 0
        guard
            isNew
                || one.transaction % 2 == 0 && two.transaction % 2 == 1
                    && (one.transaction &+ 1 == two.transaction
                        || two.transaction &+ 1 == one.transaction)
        else {
            throw refuse(
                "has meta pages of the commits \(one.transaction) and \(two.transaction), which are not consecutive; it was not changed"
            )
        }
        let newest = one.transaction > two.transaction ? one : two
        guard newest.hasLastPage, newest.lastPage >= max(one.lastPage, two.lastPage)
        else {
            throw refuse("has a damaged meta page; it was not changed")
        }
        let used = newest.usedByteCount
        guard status.st_size >= used else {
            throw refuse(
                "is truncated: it has \(status.st_size) bytes, its last page ends at \(used); it was not changed"
            )
        }
        usedByteCount = used
    }

    private static func read(_ descriptor: Int32, at offset: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: PageLayout.metaByteCount)
        let count = FileBytes.read(descriptor, at: offset, into: &bytes)
        return Array(bytes.prefix(max(0, count)))
    }
}
