internal import Glibc

/// The lock that makes one daemon the only writer of a folder: `flock` on `blobd.lock`, taken
/// before anything else is touched. The kernel drops it when the process ends, however it ends.
struct DirectoryLock: Sendable {
    private let owner: Owner

    static let fileName = "blobd.lock"

    private final class Owner: Sendable {
        let descriptor: Int32
        init(_ descriptor: Int32) { self.descriptor = descriptor }
        deinit {
            // A child that this process is starting has the descriptor until it executes its
            // program, and would hold the lock for as long: it is released for both.
            flock(descriptor, LOCK_UN)
            close(descriptor)
        }
    }

    init(_ directory: String) throws(StoreError) {
        let path = "\(directory)/\(Self.fileName)"
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o660)
        guard descriptor >= 0 else {
            throw .cannotOpen(path: directory, reason: "\(path): \(systemMessage(errno))")
        }
        owner = Owner(descriptor)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else {
                throw .cannotOpen(path: directory, reason: "flock: \(systemMessage(errno))")
            }
            throw .cannotOpen(
                path: directory,
                reason: "another process uses it and holds \(Self.fileName)")
        }
    }
}

/// LMDB's `lock.mdb`: liblmdb 0.9.24 sizes it with `ftruncate`, and on a full disk the first touch of a page that
/// is not there is a SIGBUS. Allocated beforehand, it is an error that can be read.
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
