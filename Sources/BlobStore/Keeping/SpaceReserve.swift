internal import Glibc
internal import LMDB
internal import Synchronization

/// Room on the disk for `data.mdb` to grow into, had before it is needed.
///
/// LMDB finds out in the middle of a commit that a disk is full, and says EIO. Here the room a
/// change may need is allocated first, so that "full" is known before anything is written, and
/// ``StoreLimits/reserveByteCount`` is kept back, so that deletes and expiry, which copy pages
/// before they free any, always have some. Some of the disk is left to payloads on their way in:
/// free pages in the file are of no use to a publisher whose bytes cannot be taken in.
final class SpaceReserve: Sendable {
    private let environment: Environment
    private let tables: Tables
    private let byteCountMax: Int
    private let payloadByteCountMax: Int
    /// Bytes of the file that are known to be allocated.
    private let allocated: Mutex<Int>

    /// Room is allocated in steps of this size, or of a sixteenth of the file, up to
    /// ``stepByteCountMax``.
    private static let stepByteCount = 1 << 20
    private static let stepByteCountMax = 16 << 20

    /// The share of the disk that is left to payloads on their way in, at most one of the largest.
    private static let incomingShare = 8

    init(_ environment: Environment, _ tables: Tables, _ options: BlobStore.Options) {
        self.environment = environment
        self.tables = tables
        byteCountMax = options.mapByteCountMax
        payloadByteCountMax = options.payloadByteCountMax
        allocated = Mutex(0)
    }

    /// Where a change finds its room.
    enum Room {
        /// At the end of the file, which is allocated.
        case atEnd
        /// In pages of the file that are free. Those that the last commit freed are not yet: LMDB
        /// keeps them for one commit more.
        case inFreePages
    }

    /// Makes sure that there is room for `growth` bytes.
    ///
    /// - Throws: ``StoreError/full``.
    @discardableResult
    func prepare(growth: Int) throws(StoreError) -> Room {
        let used = environment.usedByteCount
        let needed = used + growth + StoreLimits.reserveByteCount
        guard needed <= byteCountMax else {
            try requireFreePages(growth)
            return .inFreePages
        }
        let isThere = allocated.withLock { allocated in
            if needed <= allocated { return true }
            let step = min(max(Self.stepByteCount, used / 16), Self.stepByteCountMax)
            let end =
                allocate(to: needed + step, from: used) ?? allocate(to: needed, from: used) ?? 0
            allocated = max(allocated, end)
            return end > 0
        }
        if isThere { return .atEnd }
        try requireFreePages(growth)
        return .inFreePages
    }

    /// Allocates up to `end`; nil when there is no room. Where the file system cannot allocate
    /// ahead, glibc writes a byte to each block.
    private func allocate(to end: Int, from used: Int) -> Int? {
        let end = min(end, byteCountMax)
        let descriptor = environment.dataDescriptor
        let growth = end - fileByteCount
        if growth > 0, let disk = Disk(descriptor) {
            let incoming = min(payloadByteCountMax, disk.byteCount / Self.incomingShare)
            guard disk.availableByteCount - growth >= incoming else { return nil }
        }
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
        guard let disk = Disk(environment.dataDescriptor) else { return false }
        return disk.availableByteCount < byteCount + StoreLimits.reserveByteCount
    }

    /// The size of `data.mdb`.
    var fileByteCount: Int {
        var status = stat()
        guard fstat(environment.dataDescriptor, &status) == 0 else { return 0 }
        return Int(status.st_size)
    }
}

/// How large a file system is, and how much of it is free (`fstatvfs`).
private struct Disk {
    let byteCount: Int
    let availableByteCount: Int

    init?(_ descriptor: Int32) {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0 else { return nil }
        func bytes(_ blocks: UInt) -> Int {
            let (product, overflow) = blocks.multipliedReportingOverflow(by: status.f_frsize)
            return overflow ? .max : Int(clamping: product)
        }
        byteCount = bytes(status.f_blocks)
        availableByteCount = bytes(status.f_bavail)
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
