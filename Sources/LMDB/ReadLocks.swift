internal import CLMDB
internal import Glibc
internal import Synchronization

/// How processes that only read tell the one that writes which commits they see: by read locks on `data.mdb`, at the
/// byte whose offset is the commit's number. The locks belong to an open file (`F_OFD_SETLK`, fcntl(2)) and are in
/// the kernel's memory. So they need no disk space, no process ids and no write permission, they work across
/// containers and on read-only mounts, and end with the process.
///
/// liblmdb's own table of readers needs all of that: it is mapped from a file beside `data.mdb`, which on a
/// copy-on-write file system without free space is a SIGBUS.
///
/// A reader locks the commit that it sees, and begins again if there is a newer one by then. The writer looks for
/// locks when it begins a change. So either it finds the lock, or the reader finds the commit of the change before.
final class ReadLocks: Sendable {
    private let descriptor: Int32
    private let newest: @Sendable () -> UInt64
    /// How many views of this process see a commit: all of them share its lock.
    private let counts = Mutex<[UInt64: Int]>([:])

    // fcntl(2); <fcntl.h> has them for _GNU_SOURCE only.
    private static let get: Int32 = 36
    private static let set: Int32 = 37

    /// - Parameters:
    ///   - descriptor: the environment's, of `data.mdb`.
    ///   - newest: returns the number of the last commit.
    init(_ descriptor: Int32, newest: @escaping @Sendable () -> UInt64) {
        self.descriptor = descriptor
        self.newest = newest
    }

    /// Locks the commit that a read transaction sees, after renewing it if there is a newer one. Returns the commit.
    /// Where it throws, nothing is locked.
    func lock(_ transaction: OpaquePointer) throws(LMDBError) -> UInt64 {
        while true {
            let commit = unsafe UInt64(mdb_txn_id(transaction))
            try begin(commit)
            // The lock before the look, on every processor: see above.
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            if newest() == commit { return commit }
            unlock(commit)
            unsafe mdb_txn_reset(transaction)
            try LMDBError.check(unsafe mdb_txn_renew(transaction), "mdb_txn_renew")
        }
    }

    private func begin(_ commit: UInt64) throws(LMDBError) {
        let code: Int32 = counts.withLock {
            if let count = $0[commit] {
                $0[commit] = count + 1
                return 0
            }
            let code = Self.control(descriptor, Self.set, F_RDLCK, commit)
            if code == 0 { $0[commit] = 1 }
            return code
        }
        try LMDBError.check(code, "lock data.mdb for reading")
    }

    func unlock(_ commit: UInt64) {
        counts.withLock {
            guard let count = $0[commit] else { return }
            $0[commit] = count > 1 ? count - 1 : nil
            if count == 1 { _ = Self.control(descriptor, Self.set, F_UNLCK, commit) }
        }
    }

    /// The oldest commit that a reader of another process sees; nil when there is none.
    static func oldest(_ descriptor: Int32) -> UInt64? {
        var oldest: UInt64?
        // The kernel names any lock of the range, so what precedes it is asked for again.
        while oldest != 0 {
            var range = lock(F_WRLCK, 0, count: oldest ?? 0)
            // Where the kernel cannot say it, everything may be read.
            guard unsafe fcntl(descriptor, get, &range) == 0 else { return 0 }
            guard range.l_type != F_UNLCK else { break }
            oldest = UInt64(range.l_start)
        }
        return oldest
    }

    private static func control(
        _ descriptor: Int32, _ call: Int32, _ kind: Int32, _ commit: UInt64
    ) -> Int32 {
        var byte = lock(kind, commit, count: 1)
        while unsafe fcntl(descriptor, call, &byte) != 0 {
            guard errno == EINTR else { return errno }
        }
        return 0
    }

    /// - Parameter count: 0: all bytes from `start` on.
    private static func lock(_ kind: Int32, _ start: UInt64, count: UInt64) -> flock {
        var lock = flock()
        lock.l_type = Int16(kind)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(clamping: start)
        lock.l_len = off_t(clamping: count)
        return lock
    }
}
