internal import CLMDB
internal import Glibc
internal import Synchronization

/// liblmdb's table of readers (`lock.mdb`) of a process that writes: a file in memory, which no other process opens.
/// Readers of this process have their places in it, and those of others, which ``ReadLocks`` finds, share one.
///
/// liblmdb would map it from a file in the store's folder. On a full disk a write to such a map is a SIGBUS if the
/// file system copies what is written (btrfs), or has not allocated it.
@safe final class ReaderTable: @unchecked Sendable {
    // Sendable: the pointers never change, and what they point to is atomic.

    /// What is passed to `mdb_env_open`: a folder with `lock.mdb` and a link to `data.mdb`.
    let path: String
    private let memory: UnsafeMutableRawPointer
    private let byteCount: Int
    /// A read transaction whose place says what other processes see.
    private var others: OpaquePointer?
    private var oldest: UnsafeMutablePointer<Atomic<UInt64>>?

    /// 64 bytes a reader (`MDB_reader`), a header of three cache lines, and the place of others.
    private static let lineByteCount = 64

    init(_ directory: String, readerCountMax: Int) throws(LMDBError) {
        byteCount = (readerCountMax + 4) * Self.lineByteCount
        Self.removeLeftovers(in: directory)
        var failure = LMDBError(code: ENOENT, call: "make a folder for lock.mdb")
        // In the store's folder where there is no memory for it. It is new at each start: in one that a killed process
        // has left there may be places of readers.
        for place in ["/dev/shm/blobd-XXXXXX", "\(directory)/\(Self.namePrefix)XXXXXX"] {
            guard let path = Self.makeFolder(place, linkedTo: directory) else {
                failure = LMDBError(code: errno, call: "make a folder for lock.mdb")
                continue
            }
            do throws(LMDBError) {
                unsafe memory = try Self.map("\(path)/lock.mdb", byteCount)
                self.path = path
                return
            } catch {
                Self.remove(path)
                failure = error
            }
        }
        throw failure
    }

    deinit { unsafe munmap(memory, byteCount) }

    /// Removes the names: after `mdb_env_open`, which has opened the files.
    func removeFolder() { Self.remove(path) }

    /// Takes the place of readers in other processes. To be called once, before any other reader begins.
    func holdPlace(in environment: OpaquePointer) throws(LMDBError) {
        try LMDBError.check(
            unsafe mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &others), "mdb_txn_begin")
        let commit = unsafe UInt64(mdb_txn_id(others))
        // It is found by what liblmdb writes there, since its place depends on the size of a mutex.
        let places = stride(from: Self.lineByteCount, to: byteCount, by: Self.lineByteCount).filter
        {
            unsafe memory.load(fromByteOffset: $0, as: UInt64.self) == commit
                && memory.load(fromByteOffset: $0 + 8, as: Int32.self) == getpid()
        }
        guard places.count == 1, let place = places.first else {
            throw LMDBError(code: MDB_VERSION_MISMATCH, call: "find a reader in lock.mdb")
        }
        unsafe oldest = (memory + place).bindMemory(to: Atomic<UInt64>.self, capacity: 1)
    }

    /// Keeps pages that a commit sees, and later ones, from being used again. An earlier answer is never wrong, only
    /// too careful.
    func keep(from commit: UInt64) {
        unsafe oldest?.pointee.store(commit, ordering: .sequentiallyConsistent)
    }

    /// Before the environment is closed.
    func releasePlace() {
        if let others = unsafe others { unsafe mdb_txn_abort(others) }
        unsafe others = nil
    }

    /// A folder in which `data.mdb` leads to that of a store; nil where it cannot be made, see `errno`.
    private static func makeFolder(_ place: String, linkedTo directory: String) -> String? {
        guard let whole = unsafe realpath(directory, nil) else { return nil }
        defer { unsafe free(whole) }
        var name = Array(place.utf8CString)
        guard unsafe mkdtemp(&name) != nil else { return nil }
        let path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        let target = unsafe String(cString: whole) + "/data.mdb"
        guard unsafe symlink(target, "\(path)/data.mdb") == 0 else {
            remove(path)
            return nil
        }
        return path
    }

    /// Removes what a process that was killed while it opened a store has left in the store's folder. Nobody may be
    /// opening it for writing.
    static func removeLeftovers(in directory: String) {
        guard let folder = unsafe opendir(directory) else { return }
        defer { unsafe closedir(folder) }
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if name.hasPrefix(namePrefix) { remove("\(directory)/\(name)") }
        }
    }

    private static let namePrefix = ".readers-"

    private static func remove(_ path: String) {
        unsafe unlink("\(path)/data.mdb")
        unsafe unlink("\(path)/lock.mdb")
        unsafe rmdir(path)
    }

    /// Allocated, so that no page of it is missing when it is written.
    private static func map(
        _ path: String, _ byteCount: Int
    ) throws(LMDBError) -> UnsafeMutableRawPointer {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o660)
        guard descriptor >= 0 else { throw LMDBError(code: errno, call: "open lock.mdb") }
        defer { close(descriptor) }
        var code: Int32
        repeat { code = posix_fallocate(descriptor, 0, off_t(byteCount)) } while code == EINTR
        try LMDBError.check(code, "posix_fallocate lock.mdb")
        let memory = unsafe mmap(
            nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
            throw LMDBError(code: errno, call: "mmap lock.mdb")
        }
        return unsafe memory
    }
}
