internal import Glibc

/// LMDB's `lock.mdb`, made before LMDB makes it: liblmdb 0.9.24 sizes it with `ftruncate`, and on a
/// full disk the first touch of a page that is not there is a SIGBUS. Allocated beforehand, it is
/// an error that can be read.
enum LockFile {
    /// What LMDB needs: 64 bytes a reader, and a header of three cache lines.
    static func byteCount(readerCountMax: Int) -> Int { (readerCountMax + 3) * 64 }

    /// Must run while no environment of this process has the file open: closing it drops the
    /// process's record locks.
    static func allocate(_ path: String, readerCountMax: Int) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o660)
        guard descriptor >= 0 else { throw .system("open \(path)") }
        defer { close(descriptor) }
        var number: Int32
        repeat {
            number = posix_fallocate(
                descriptor, 0, off_t(byteCount(readerCountMax: readerCountMax)))
        } while number == EINTR
        guard number == 0 else {
            throw .system("posix_fallocate \(path)", number)
        }
    }
}
