internal import CLMDB
internal import Glibc
internal import Synchronization

/// One LMDB environment: `data.mdb` and `lock.mdb` in a folder, mapped once at its full size
/// (`mdb_env_open`).
///
/// The map is address space only; it is never resized, so a borrowed value never moves. A process
/// opens a folder once: closing a second `lock.mdb` would drop the locks of the first (POSIX record
/// locks), so a second open is refused.
@safe package final class Environment: @unchecked Sendable {
    // Sendable: an MDB_env may be used from every thread; what Swift adds is immutable.
    private let owner: EnvironmentHandle
    var handle: OpaquePointer { unsafe owner.pointer }

    package let readers: ReaderPool

    /// The size of a page in bytes, from the file (`ms_psize`). liblmdb creates a file with the
    /// system's page size, up to 32 KiB, and opens files with any other.
    package let pageByteCount: Int

    /// The page size divided by 4,096 bytes. Estimates of space are made for pages of 4,096 bytes and
    /// multiplied by it.
    package var pageScale: Int { max(1, pageByteCount / 4_096) }

    /// Where `data.mdb` is mapped; nil when that is not known.
    package let mappedFile: MappedFile?

    /// Which addresses have a page of the file behind them.
    var bounds: MapBounds { owner.bounds }

    /// Tells a failed sync from a failed write; nil where nothing is written.
    let witness: SyncWitness?

    /// True when it was opened with `MDB_RDONLY`.
    package let isReadOnly: Bool

    package struct Configuration: Sendable {
        /// The address space to reserve, in bytes, and so the maximum size of `data.mdb`
        /// (`mdb_env_set_mapsize`).
        package var mapByteCount: Int
        /// How many views may be open at once, in all processes together
        /// (`mdb_env_set_maxreaders`).
        package var readerCountMax: Int
        /// How many named tables there may be (`mdb_env_set_maxdbs`).
        package var tableCountMax: Int
        package var isReadOnly: Bool

        package init(
            mapByteCount: Int, readerCountMax: Int, tableCountMax: Int, isReadOnly: Bool = false
        ) {
            self.mapByteCount = mapByteCount
            self.readerCountMax = readerCountMax
            self.tableCountMax = tableCountMax
            self.isReadOnly = isReadOnly
        }
    }

    /// Opens the environment in `directory`. `data.mdb` is created by LMDB when it is not there:
    /// callers that must survive a power cut in that moment create it elsewhere and rename.
    ///
    /// - Throws: `EBUSY` when this process has it open already, what LMDB answered otherwise.
    package init(directory: String, _ configuration: Configuration) throws(LMDBError) {
        unsafe owner = try EnvironmentHandle(FileIdentity(path: directory)) {
            () throws(LMDBError) in
            unsafe try Self.open(directory, configuration)
        }
        isReadOnly = configuration.isReadOnly
        witness = configuration.isReadOnly ? nil : SyncWitness(directory: directory)
        // LMDB shares its slots among processes. This process may use all of them.
        readers = ReaderPool(
            owner, capacity: configuration.readerCountMax,
            remembersLookups: !configuration.isReadOnly)
        pageByteCount = owner.pageByteCount
        mappedFile = owner.mappedFile
    }

    /// Whether this process has an environment open in `directory`. Its `lock.mdb` must not be
    /// touched then.
    package static func isOpen(_ directory: String) -> Bool {
        guard let identity = try? FileIdentity(path: directory) else { return false }
        return EnvironmentHandle.isOpen(identity)
    }

    private static func open(
        _ directory: String, _ configuration: Configuration
    ) throws(LMDBError) -> OpaquePointer {
        var created: OpaquePointer?
        let code = unsafe mdb_env_create(&created)
        guard code == MDB_SUCCESS, let handle = unsafe created else {
            throw LMDBError(code: code, call: "mdb_env_create")
        }
        do throws(LMDBError) {
            try LMDBError.check(
                unsafe mdb_env_set_mapsize(handle, configuration.mapByteCount),
                "mdb_env_set_mapsize")
            try LMDBError.check(
                unsafe mdb_env_set_maxreaders(handle, UInt32(configuration.readerCountMax)),
                "mdb_env_set_maxreaders")
            try LMDBError.check(
                unsafe mdb_env_set_maxdbs(handle, MDB_dbi(configuration.tableCountMax)),
                "mdb_env_set_maxdbs")
            // MDB_NOTLS: a read transaction belongs to its object, not to a thread.
            // No MDB_WRITEMAP, MDB_NOSYNC or MDB_NOMETASYNC: each can lose or damage acknowledged
            // changes.
            let flags = UInt32(MDB_NOTLS) | (configuration.isReadOnly ? UInt32(MDB_RDONLY) : 0)
            try LMDBError.check(
                unsafe mdb_env_open(handle, directory, flags, 0o660), "mdb_env_open")
        } catch {
            unsafe mdb_env_close(handle)
            throw error
        }
        unsafe DescriptorFlags.closeOnExec(handle: handle)
        return unsafe handle
    }

    /// Opens existing tables in one read transaction.
    package func openTables(_ names: [StaticString]) throws(LMDBError) -> [Table] {
        var transaction: OpaquePointer?
        try LMDBError.check(
            unsafe mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction), "mdb_txn_begin")
        guard let transaction = unsafe transaction else { return [] }
        var tables: [Table] = []
        do throws(LMDBError) {
            for (number, name) in names.enumerated() {
                var table = try unsafe Table(transaction: transaction, name: name, flags: 0)
                table.number = UInt8(truncatingIfNeeded: number)
                tables.append(table)
            }
        } catch {
            unsafe mdb_txn_abort(transaction)
            throw error
        }
        // Handles opened here are kept by the environment once this transaction commits.
        try LMDBError.check(unsafe mdb_txn_commit(transaction), "mdb_txn_commit")
        return tables
    }

    /// Begins a write transaction. There is one at a time: waits for that of another thread or
    /// process to end.
    package func beginWrite() throws(LMDBError) -> WriteTransaction { try WriteTransaction(self) }

    /// Frees the reader slots of processes that have died (`mdb_reader_check`).
    ///
    /// - Returns: how many were freed.
    @discardableResult
    package func checkReaders() throws(LMDBError) -> Int {
        var dead: Int32 = 0
        try LMDBError.check(unsafe mdb_reader_check(handle, &dead), "mdb_reader_check")
        return Int(dead)
    }

    /// The bytes of `data.mdb` up to and with the last page in use (`me_last_pgno`).
    package var usedByteCount: Int {
        var info = unsafe MDB_envinfo()
        _ = unsafe mdb_env_info(handle, &info)
        return unsafe (info.me_last_pgno + 1) * pageByteCount
    }

    /// LMDB's descriptor of `data.mdb` (`mdb_env_get_fd`). The process must not open the file
    /// elsewhere.
    package var dataDescriptor: Int32 {
        var descriptor: Int32 = -1
        _ = unsafe mdb_env_get_fd(handle, &descriptor)
        return descriptor
    }
}

/// The `MDB_env`, closed (`mdb_env_close`) when the environment and the last of its transactions
/// have released it.
@safe final class EnvironmentHandle: @unchecked Sendable {
    // Sendable: an MDB_env may be used from every thread, and the pointer never changes.
    let pointer: OpaquePointer
    let pageByteCount: Int
    let mappedFile: MappedFile?
    let bounds: MapBounds
    private let identity: FileIdentity

    private static let opened = Mutex<Set<FileIdentity>>([])

    init(
        _ identity: FileIdentity, opening: () throws(LMDBError) -> OpaquePointer
    ) throws(LMDBError) {
        guard Self.opened.withLock({ $0.insert(identity).inserted }) else {
            throw LMDBError(code: EBUSY, call: "mdb_env_open")
        }
        do throws(LMDBError) {
            unsafe pointer = try opening()
        } catch {
            _ = Self.opened.withLock { $0.remove(identity) }
            throw error
        }
        self.identity = identity
        var raw = MDB_stat()
        _ = unsafe mdb_env_stat(pointer, &raw)
        pageByteCount = Int(raw.ms_psize)
        mappedFile = unsafe MappedFile(pointer, pageByteCount: pageByteCount)
        bounds = unsafe MapBounds(pointer, file: mappedFile, pageByteCount: pageByteCount)
    }

    deinit {
        unsafe mdb_env_close(pointer)
        unsafe bounds.free()
        _ = Self.opened.withLock { $0.remove(identity) }
    }

    static func isOpen(_ identity: FileIdentity) -> Bool {
        opened.withLock { $0.contains(identity) }
    }
}

/// Identifies a folder by device and inode, whatever its path.
struct FileIdentity: Hashable, Sendable {
    var device: UInt64
    var node: UInt64

    init(path: String) throws(LMDBError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw LMDBError(code: errno, call: "stat") }
        device = UInt64(status.st_dev)
        node = UInt64(status.st_ino)
    }
}

enum DescriptorFlags {
    /// liblmdb 0.9.24 opens `data.mdb` twice, both times without `O_CLOEXEC`, and returns only one of
    /// the two descriptors. The other is found among the process's descriptors by its inode.
    static func closeOnExec(handle: OpaquePointer) {
        var known: Int32 = -1
        guard unsafe mdb_env_get_fd(handle, &known) == MDB_SUCCESS else { return }
        var data = stat()
        guard unsafe fstat(known, &data) == 0 else { return }
        for descriptor in openDescriptors() {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0, status.st_ino == data.st_ino,
                status.st_dev == data.st_dev
            else { continue }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    /// Every descriptor of the process, from `/proc/self/fd`; the first 1,024 numbers where there
    /// is no `/proc`.
    private static func openDescriptors() -> [Int32] {
        guard let folder = unsafe opendir("/proc/self/fd") else { return Array(0..<1_024) }
        defer { unsafe closedir(folder) }
        var descriptors: [Int32] = []
        while let entry = unsafe readdir(folder) {
            // `d_name` is NUL-terminated and valid until the next call.
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if let descriptor = Int32(name) { descriptors.append(descriptor) }
        }
        return descriptors
    }
}

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
