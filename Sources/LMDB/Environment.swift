internal import CLMDB
internal import Glibc
internal import Synchronization

/// One LMDB environment: `data.mdb` in a folder, mapped once at its full size (`mdb_env_open`), so that a borrowed
/// value never moves. One process writes; which commits others read is known by their locks (``ReadLocks``). A process
/// opens a folder once.
@safe package final class Environment: @unchecked Sendable {
    // Sendable: an MDB_env may be used from every thread; what Swift adds is immutable.
    let handle: OpaquePointer

    /// The read transactions of this process.
    package let readers: ReaderSlots

    /// The size of a page in bytes, from the file (`ms_psize`). liblmdb creates a file with the
    /// system's page size, up to 32 KiB, and opens files with any other.
    package let pageByteCount: Int

    /// The page size divided by 4,096 bytes. Estimates of space are made for pages of 4,096 bytes and
    /// multiplied by it.
    package var pageScale: Int { max(1, pageByteCount / 4_096) }

    /// Where `data.mdb` is mapped; nil when that is not known.
    package let mappedFile: MappedFile?

    /// Which addresses have a page of the file behind them.
    let bounds: MapBounds

    /// Tells a failed sync from a failed write; nil where nothing is written.
    let witness: SyncWitness?

    /// True when it was opened with `MDB_RDONLY`.
    package let isReadOnly: Bool

    /// Where a process that writes has its readers; nil in one that reads.
    private let table: ReaderTable?
    /// The locks of a process that reads; nil in one that writes.
    private let locks: ReadLocks?
    private let identity: FileIdentity
    private static let opened = Mutex<Set<FileIdentity>>([])

    /// Opens the environment in `directory`. LMDB creates `data.mdb` when it is not there: callers that must
    /// survive a power cut in that moment create it elsewhere and rename. `EBUSY`: this process has it open
    /// already.
    ///
    /// - Parameters:
    ///   - mapByteCount: the address space to reserve, and so the maximum size of `data.mdb`.
    ///   - readerCountMax: how many views may be open at once in this process.
    ///   - isReadOnly: whether it only reads, alongside the one process that writes.
    package init(
        directory: String, mapByteCount: Int, readerCountMax: Int, tableCountMax: Int,
        isReadOnly: Bool = false
    ) throws(LMDBError) {
        let identity = try FileIdentity(path: directory)
        guard Self.opened.withLock({ $0.insert(identity).inserted }) else {
            throw LMDBError(code: EBUSY, call: "mdb_env_open")
        }
        do throws(LMDBError) {
            table = isReadOnly ? nil : try ReaderTable(directory, readerCountMax: readerCountMax)
            unsafe handle = try Self.open(
                directory, table, mapByteCount, readerCountMax, tableCountMax)
        } catch {
            _ = Self.opened.withLock { $0.remove(identity) }
            throw error
        }
        let opened = unsafe EnvironmentHandle(handle)
        locks = isReadOnly ? ReadLocks(opened.dataDescriptor) { opened.lastCommit } : nil
        self.identity = identity
        self.isReadOnly = isReadOnly
        witness = isReadOnly ? nil : SyncWitness(directory: directory)
        var raw = MDB_stat()
        _ = unsafe mdb_env_stat(handle, &raw)
        pageByteCount = Int(raw.ms_psize)
        mappedFile = unsafe MappedFile(handle, pageByteCount: pageByteCount)
        bounds = unsafe MapBounds(handle, file: mappedFile, pageByteCount: pageByteCount)
        readers = unsafe ReaderSlots(
            environment: handle, bounds: bounds, capacity: readerCountMax,
            remembersLookups: !isReadOnly, locks: locks)
    }

    deinit {
        // No view is open: each keeps this.
        unsafe readers.free()
        table?.releasePlace()
        unsafe mdb_env_close(handle)
        unsafe bounds.free()
        _ = Self.opened.withLock { $0.remove(identity) }
    }

    /// Removes from a folder what a process that was killed while it opened the store there has left. Nobody may be
    /// opening it for writing.
    package static func removeLeftovers(in directory: String) {
        ReaderTable.removeLeftovers(in: directory)
    }

    /// Whether this process has an environment open in `directory`.
    package static func isOpen(_ directory: String) -> Bool {
        guard let identity = try? FileIdentity(path: directory) else { return false }
        return opened.withLock { $0.contains(identity) }
    }

    private static func open(
        _ directory: String, _ table: ReaderTable?, _ mapByteCount: Int, _ readerCountMax: Int,
        _ tableCountMax: Int
    ) throws(LMDBError) -> OpaquePointer {
        defer { table?.removeFolder() }
        var created: OpaquePointer?
        let code = unsafe mdb_env_create(&created)
        guard code == MDB_SUCCESS, let handle = unsafe created else {
            throw LMDBError(code: code, call: "mdb_env_create")
        }
        do throws(LMDBError) {
            try LMDBError.check(
                unsafe mdb_env_set_mapsize(handle, mapByteCount),
                "mdb_env_set_mapsize")
            try LMDBError.check(
                unsafe mdb_env_set_maxreaders(handle, UInt32(readerCountMax)),
                "mdb_env_set_maxreaders")
            try LMDBError.check(
                unsafe mdb_env_set_maxdbs(handle, MDB_dbi(tableCountMax)),
                "mdb_env_set_maxdbs")
            // MDB_NOTLS: a read transaction belongs to its object, not to a thread.
            // MDB_NOLOCK: a process that only reads has no table of readers, but locks.
            // No MDB_WRITEMAP, MDB_NOSYNC or MDB_NOMETASYNC: each can lose or damage acknowledged
            // changes.
            let flags = UInt32(MDB_NOTLS | (table == nil ? MDB_RDONLY | MDB_NOLOCK : 0))
            try LMDBError.check(
                unsafe mdb_env_open(handle, table?.path ?? directory, flags, 0o660), "mdb_env_open")
            try unsafe table?.holdPlace(in: handle)
        } catch {
            table?.releasePlace()
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
        var locked: UInt64?
        defer { if let locked { locks?.unlock(locked) } }
        do throws(LMDBError) {
            locked = try unsafe locks?.lock(transaction)
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

    /// Opens a view of the last commit, which keeps this environment until it ends.
    package func beginRead() throws(LMDBError) -> ReadTransaction {
        try readers.begin(keeping: self)
    }

    /// Begins a write transaction. There is one at a time: waits for that of another thread or
    /// process to end.
    package func beginWrite() throws(LMDBError) -> WriteTransaction {
        keepWhatOthersRead()
        return try WriteTransaction(self)
    }

    /// Finds what other processes read, whose pages the next change must not use. One `fcntl`, and one more for each
    /// commit that is read.
    private func keepWhatOthersRead() {
        // The commit first: who begins to read after the look at the locks sees this one, or a later one.
        let last = unsafe EnvironmentHandle(handle).lastCommit
        table?.keep(from: min(last, ReadLocks.oldest(dataDescriptor) ?? .max))
    }

    /// The oldest commit that a reader of any process sees; nil when there is no reader. Costs a look at every slot
    /// of ``readers`` that was ever used, and one `fcntl`.
    package func oldestReader() -> UInt64? {
        var own = readers.oldestViewed
        // Which commit a view sees that is being opened is known in a moment; it may take longer, and is 0 then.
        for _ in 0..<1_000 where own == 0 { own = readers.oldestViewed }
        let oldest = min(own, ReadLocks.oldest(dataDescriptor) ?? .max)
        return oldest == .max ? nil : oldest
    }

    /// The bytes of `data.mdb` up to and with the last page in use (`me_last_pgno`).
    package var usedByteCount: Int {
        var info = unsafe MDB_envinfo()
        _ = unsafe mdb_env_info(handle, &info)
        return unsafe (info.me_last_pgno + 1) * pageByteCount
    }

    /// LMDB's descriptor of `data.mdb` (`mdb_env_get_fd`).
    package var dataDescriptor: Int32 { unsafe EnvironmentHandle(handle).dataDescriptor }
}

/// What an `MDB_env` says of itself, which every thread may ask.
@safe private struct EnvironmentHandle: @unchecked Sendable {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { unsafe self.handle = handle }

    var dataDescriptor: Int32 {
        var descriptor: Int32 = -1
        _ = unsafe mdb_env_get_fd(handle, &descriptor)
        return descriptor
    }

    /// The number of the last commit, of whatever process (`me_last_txnid`).
    var lastCommit: UInt64 {
        var info = unsafe MDB_envinfo()
        _ = unsafe mdb_env_info(handle, &info)
        return unsafe UInt64(info.me_last_txnid)
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
/// liblmdb does not say which call failed in a commit. The kernel reports pages that it could not write back once
/// to each open file (`errseq_t`): after a sync of liblmdb's descriptor failed, a sync of this one fails as well.
/// Where that succeeds it was a write that failed.
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
    /// Whether a commit that failed left nothing behind: no sync failed, and no meta page was written in part
    /// (`MDB_PANIC`). One sync. Only while no change is under way, and only once.
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
