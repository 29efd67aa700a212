internal import Glibc

/// What can be known of a `data.mdb` before LMDB maps it: a map of a file that was cut short is a signal when it is
/// read. Of the two meta pages the one with the higher transaction number counts.
struct DataFile {
    /// Bytes up to and with the last page in use.
    let usedByteCount: Int
    /// How large the map of the process was that wrote it last.
    let mapByteCount: Int

    static let name = "data.mdb"
    static let lockName = "lock.mdb"
    /// How many changes are only in the log.
    static let pendingName = "changes.pending"

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Throws where the open file is not the one in `directory`: somebody has removed, moved or replaced it.
    static func requireInPlace(_ descriptor: Int32, in directory: String) throws(StoreError) {
        let path = "\(directory)/\(name)"
        var (opened, found) = (stat(), stat())
        guard fstat(descriptor, &opened) == 0 else { throw .system("stat \(path)") }
        guard stat(path, &found) == 0 else { throw .system("find the open \(path)") }
        guard opened.st_ino == found.st_ino, opened.st_dev == found.st_dev else {
            throw .system("find the open \(path), which is another file now", ESTALE)
        }
    }

    /// Checks the file in `directory`. It is read, never changed.
    init(in directory: String) throws(StoreError) {
        let path = "\(directory)/\(Self.name)"
        func refuse(_ reason: String) -> StoreError {
            .cannotOpen(path: directory, reason: "\(path) \(reason)")
        }
        func damaged(_ reason: String) -> StoreError {
            .damaged(path: directory, reason: "\(path) \(reason)")
        }
        var status = stat()
        guard stat(path, &status) == 0 else {
            let code = errno
            let isMissing = code == ENOENT || code == ENOTDIR
            throw .cannotOpen(
                path: directory, reason: isMissing ? "it has no \(Self.name)" : systemMessage(code)
            )
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw refuse("is not a regular file") }
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw refuse(systemMessage(errno)) }
        defer { close(descriptor) }

        guard let one = PageFile.meta(of: descriptor, at: 0) else {
            throw damaged("is not an LMDB file; it was not changed")
        }
        guard let two = PageFile.meta(of: descriptor, at: one.pageByteCount),
            two.pageByteCount == one.pageByteCount
        else {
            throw damaged("has a damaged second meta page; it was not changed")
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
            throw damaged(
                "has meta pages of the commits \(one.transaction) and \(two.transaction), which are not consecutive; it was not changed"
            )
        }
        let newest = one.transaction > two.transaction ? one : two
        guard newest.hasLastPage, newest.lastPage >= max(one.lastPage, two.lastPage)
        else {
            throw damaged("has a damaged meta page; it was not changed")
        }
        let used = newest.usedByteCount
        guard status.st_size >= used else {
            throw damaged(
                "is truncated: it has \(status.st_size) bytes, its last page ends at \(used); it was not changed"
            )
        }
        usedByteCount = used
        mapByteCount = Int(clamping: newest.mapByteCount)
    }
}
