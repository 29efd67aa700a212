internal import Glibc
internal import LMDB
internal import Synchronization

/// Room on the disk for `data.mdb` to grow into, had before it is needed.
///
/// LMDB finds out in the middle of a commit that a disk is full, and says EIO. Here the room a
/// change may need is allocated first, so that "full" is known before anything is written, and
/// ``StoreLimits/reserveByteCount`` is kept back, so that deletes and expiry, which copy pages
/// before they free any, always have some.
final class SpaceReserve: Sendable {
    private let environment: Environment
    private let tables: Tables
    private let byteCountMax: Int
    /// Bytes of the file that are known to be allocated.
    private let allocated: Mutex<Int>

    /// Room is allocated in steps of this size, or of a sixteenth of the file, up to
    /// ``stepByteCountMax``.
    private static let stepByteCount = 1 << 20
    private static let stepByteCountMax = 16 << 20

    init(_ environment: Environment, _ tables: Tables, byteCountMax: Int) {
        self.environment = environment
        self.tables = tables
        self.byteCountMax = byteCountMax
        allocated = Mutex(0)
    }

    /// Makes sure that the file can grow by `growth` bytes.
    ///
    /// - Throws: ``StoreError/full``.
    func prepare(growth: Int) throws(StoreError) {
        let used = environment.usedByteCount
        let needed = used + growth + StoreLimits.reserveByteCount
        guard needed <= byteCountMax else {
            try requireFreePages(growth)
            return
        }
        let isThere = allocated.withLock { allocated in
            if needed <= allocated { return true }
            let step = min(max(Self.stepByteCount, used / 16), Self.stepByteCountMax)
            let end =
                allocate(to: needed + step, from: used) ?? allocate(to: needed, from: used) ?? 0
            allocated = max(allocated, end)
            return end > 0
        }
        if !isThere { try requireFreePages(growth) }
    }

    /// Allocates up to `end`; nil when there is no room. Where the file system cannot allocate
    /// ahead, glibc writes a byte to each block.
    private func allocate(to end: Int, from used: Int) -> Int? {
        let end = min(end, byteCountMax)
        let descriptor = environment.dataDescriptor
        while true {
            switch posix_fallocate(descriptor, off_t(used), off_t(end - used)) {
            case 0: return end
            case EINTR: continue
            default: return nil
            }
        }
    }

    /// Without room to grow, a change may still fit into pages that are free in the file: twice
    /// what it needs, since a chunk wants neighbouring ones.
    private func requireFreePages(_ growth: Int) throws(StoreError) {
        guard try environment.freeByteCount(tables) >= 2 * growth + StoreLimits.reserveByteCount
        else {
            throw .full
        }
    }

    /// LMDB may number pages at the end that it never writes; the file is made to cover them, so
    /// that a file shorter than its last page is always one that was cut.
    func coverLastPage() {
        let used = environment.usedByteCount
        let isCovered = allocated.withLock { $0 >= used }
        guard !isCovered else { return }
        let descriptor = environment.dataDescriptor
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size < used else { return }
        ftruncate(descriptor, off_t(used))
    }

    /// Whether the disk has so little room that a commit of `byteCount` bytes may have failed for
    /// that alone.
    func isExhausted(byteCount: Int) -> Bool {
        var status = statvfs()
        guard fstatvfs(environment.dataDescriptor, &status) == 0 else { return false }
        let available = Int(status.f_bavail) * Int(status.f_frsize)
        return available < byteCount + StoreLimits.reserveByteCount
    }

    /// The size of `data.mdb`.
    var fileByteCount: Int {
        var status = stat()
        guard fstat(environment.dataDescriptor, &status) == 0 else { return 0 }
        return Int(status.st_size)
    }
}

extension Environment {
    /// Bytes of pages in the file that hold nothing. Costs a `mdb_stat` a table.
    func freeByteCount(_ tables: Tables) throws(StoreError) -> Int {
        do throws(LMDBError) {
            let transaction = try readers.begin()
            // Two meta pages, then what the tables have.
            var used = try 2 + transaction.bookkeepingPageCount()
            for table in tables.all { used += try transaction.statistics(of: table).pageCount }
            return max(0, usedByteCount - used * pageByteCount)
        } catch {
            throw StoreError(error)
        }
    }
}
