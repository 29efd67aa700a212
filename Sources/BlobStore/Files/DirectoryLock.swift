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
