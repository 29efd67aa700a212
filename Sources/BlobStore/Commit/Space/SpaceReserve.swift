internal import CLinux
internal import Glibc
internal import LMDB
internal import Synchronization

/// Room on the disk for `data.mdb` to grow into, had before it is needed.
///
/// LMDB finds out in the middle of a commit that a disk is full, and says EIO. Here room is allocated first, so
/// that "full" is known before anything is written. ``StoreLimits/reserveByteCount`` is kept back, so that deletes
/// and expiry, which copy pages before they free any, have some; and some of the disk is left to payloads on their
/// way in.
final class SpaceReserve: Sendable {
    private let core: StoreCore
    private var environment: Environment { core.environment }
    private var byteCountMax: Int { core.options.mapByteCountMax }
    /// What is kept back: so many pages, however long they are.
    let reserveByteCount: Int
    let state = Mutex(State())

    struct State {
        /// Bytes of the file that are known to be allocated.
        var allocated = 0
        /// The most that a change asked for since the file was last trimmed, and before that.
        var growthMax = 0
        var growthMaxBefore = 0
        var refused = Refused()
    }

    /// Room is allocated in steps of a part of the file, within these bounds: what is allocated and
    /// not used counts as the file's size, too.
    private static let stepByteCountRange = 256 << 10...16 << 20
    private static let stepParts = 32

    private static func step(_ used: Int) -> Int {
        min(max(stepByteCountRange.lowerBound, used / stepParts), stepByteCountRange.upperBound)
    }

    /// Steps up to this size are written with zeros, where the changes are small: blocks that were written before
    /// are synced without a commit of the file system's journal.
    private static let writtenStepByteCountMax = 1 << 20
    private static let writtenGrowthByteCountMax = 128 << 10

    /// The share of the disk that is left to payloads on their way in, at most one of the largest.
    private static let incomingShare = 8

    init(_ core: StoreCore) {
        self.core = core
        reserveByteCount = StoreLimits.reserveByteCount * core.environment.pageScale
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
    @discardableResult
    func prepare(growth: Int) throws(StoreError) -> Room {
        let used = environment.usedByteCount
        let needed = used + growth + reserveByteCount
        guard needed <= byteCountMax else {
            try requireFreePages(growth)
            return .inFreePages
        }
        let isThere = state.withLock { state in
            state.growthMax = max(state.growthMax, growth)
            if needed <= state.allocated { return true }
            var step = Self.step(used)
            let isWritten = growth <= Self.writtenGrowthByteCountMax
            if isWritten { step = min(step, Self.writtenStepByteCountMax) }
            func allocate(isAlone: Bool) -> Int {
                self.allocate(to: needed + step, from: used, isAlone: isAlone)
                    ?? self.allocate(to: needed, from: used, isAlone: isAlone) ?? 0
            }
            // Not over pages that a commit is writing.
            let written =
                isWritten
                ? core.tree.withLockIfAvailable { _ in allocate(isAlone: true) } : nil
            let end = written ?? allocate(isAlone: false)
            state.allocated = max(state.allocated, end)
            return end > 0
        }
        if isThere { return .atEnd }
        try requireFreePages(growth)
        return .inFreePages
    }

    /// Whether the file has room at its end for so much, so that a commit cannot fail for want of
    /// any.
    func hasRoomAtEnd(_ growth: Int) -> Bool {
        do throws(StoreError) {
            return try prepare(growth: growth) == .atEnd
        } catch {
            return false
        }
    }

    /// Whether what is in the log may add so much to the file.
    ///
    /// - Parameter quarters: of the bounds.
    func mayBePending(_ growth: PendingGrowth, quarters: Int = 4) -> Bool {
        growth.lastingByteCount <= StoreLimits.pendingGrowthByteCountMax / 4 * quarters
            && growth.copiedByteCount <= StoreLimits.pendingCopiesByteCountMax / 4 * quarters
    }

    /// How much of that it is, of 1,000.
    func pendingShare(_ growth: PendingGrowth) -> Int {
        max(
            growth.lastingByteCount * 1_000 / StoreLimits.pendingGrowthByteCountMax,
            growth.copiedByteCount * 1_000 / StoreLimits.pendingCopiesByteCountMax)
    }

    /// Allocates up to `end`; nil when there is no room.
    ///
    /// - Parameter isAlone: whether it is known that no commit writes meanwhile. Then a short step is written with zeros.
    private func allocate(to end: Int, from used: Int, isAlone: Bool) -> Int? {
        let end = min(end, byteCountMax)
        let descriptor = environment.dataDescriptor
        guard let begin = FileExtent(descriptor)?.byteCount else { return nil }
        let growth = end - begin
        if growth > 0, let disk = Disk(descriptor) {
            let incoming = min(
                core.options.payloadByteCountMax, disk.byteCount / Self.incomingShare)
            guard disk.availableByteCount - growth >= incoming else { return nil }
        }
        switch clinux_allocate(descriptor, Int64(used), Int64(end - used)) {
        case 0:
            // Where that fails the room is there all the same.
            if isAlone, 1...Self.writtenStepByteCountMax * 4 ~= growth {
                _ = writeZeros(from: begin, to: end)
            }
            return end
        // Such a file system has room for what was written, and is asked for it where no commit writes.
        case EOPNOTSUPP:
            if isAlone { return lengthen(to: end) }
            return core.tree.withLockIfAvailable { _ in lengthen(to: end) } ?? nil
        default: return nil
        }
    }

    /// Writes zeros from the end of the file up to `end`; nil when there is no room.
    private func lengthen(to end: Int) -> Int? {
        guard let begin = FileExtent(environment.dataDescriptor)?.byteCount else { return nil }
        for start in stride(from: begin, to: end, by: Self.writtenStepByteCountMax) {
            guard writeZeros(from: start, to: min(end, start + Self.writtenStepByteCountMax)) else {
                _ = ftruncate(environment.dataDescriptor, off_t(begin))
                return nil
            }
        }
        return end
    }

    /// Returns whether all could be written.
    private func writeZeros(from start: Int, to end: Int) -> Bool {
        let zeros = [UInt8](repeating: 0, count: end - start)
        return FileBytes.write(zeros.span.bytes, at: start, to: environment.dataDescriptor)
    }

    /// Gives back room at the end of the file that changes have not asked for lately. Only while
    /// nothing is written.
    ///
    /// - Parameter pending: bytes that the next commit may add.
    func trim(keeping pending: Int) {
        let used = environment.usedByteCount
        state.withLock { state in
            let growth = max(pending, state.growthMax, state.growthMaxBefore)
            state.growthMaxBefore = state.growthMax
            state.growthMax = 0
            let kept = used + growth + reserveByteCount
            // Not for a little, so that the file does not go up and down with every change.
            guard fileByteCount > kept + Self.step(used) else { return }
            if ftruncate(environment.dataDescriptor, off_t(kept)) == 0 {
                state.allocated = min(state.allocated, kept)
            }
        }
    }

    /// Gives back what is allocated after the last page in use: on a full disk it is for free pages that were
    /// given back and are written again. Only while nothing is written.
    func releaseEnd() {
        let used = environment.usedByteCount
        state.withLock { state in
            guard fileByteCount > used, ftruncate(environment.dataDescriptor, off_t(used)) == 0
            else { return }
            state.allocated = min(state.allocated, used)
        }
    }

    /// Whether free pages are holes, and the disk has so little space that a change may not be able to
    /// write to them.
    var isShortForHoles: Bool {
        guard let disk = Disk(environment.dataDescriptor),
            disk.availableByteCount < 2 * reserveByteCount
        else { return false }
        return (FileExtent(environment.dataDescriptor)?.holeByteCount ?? 0) > 0
    }

    /// Without room to grow, a change may still fit into pages that are free in the file: twice
    /// what it needs, since a chunk wants neighbouring ones.
    private func requireFreePages(_ growth: Int) throws(StoreError) {
        guard try writableFreeByteCount() >= 2 * growth + reserveByteCount else { throw .full }
    }

    /// Bytes of free pages that can be written to: those that are holes only as far as the disk has
    /// room for them.
    private func writableFreeByteCount() throws(StoreError) -> Int {
        let free = try environment.freeByteCount(core.tables)
        guard let disk = Disk(environment.dataDescriptor),
            let holes = FileExtent(environment.dataDescriptor)?.holeByteCount
        else { return free }
        return free - max(0, min(free, holes) - disk.availableByteCount)
    }

    /// Whether half of what is kept back for deletes is left: what they leave behind, so that owners hear of them,
    /// may use the other half only. Costs a `mdb_stat` a table.
    var hasHalfOfReserve: Bool {
        let available = availableByteCount(after: fileByteCount) ?? byteCountMax
        let end = min(byteCountMax, fileByteCount + min(available, byteCountMax))
        let free = (try? writableFreeByteCount()) ?? 0
        return end - environment.usedByteCount + free >= reserveByteCount / 2
    }

    /// Bytes that disk and process allow a file that ends at `end` to grow by; nil: the disk does not say.
    private func availableByteCount(after end: Int) -> Int? {
        Disk(environment.dataDescriptor).map {
            min($0.availableByteCount, FileSizeLimit.byteCount - min(FileSizeLimit.byteCount, end))
        }
    }

    /// LMDB may number pages at the end that it never writes; the file is made to cover them, so
    /// that a file shorter than its last page is always one that was cut.
    func coverLastPage() {
        let used = environment.usedByteCount
        state.withLock { state in
            guard state.allocated < used, fileByteCount < used else { return }
            ftruncate(environment.dataDescriptor, off_t(used))
        }
    }

    /// Whether the disk, or the size a file may have, leaves so little room that a commit of
    /// `byteCount` bytes may have failed only for that reason.
    func isExhausted(byteCount: Int) -> Bool {
        let available = availableByteCount(after: environment.usedByteCount)
        return available.map { $0 < byteCount + reserveByteCount } ?? false
    }

    var fileByteCount: Int { FileExtent(environment.dataDescriptor)?.byteCount ?? 0 }
}

extension Environment {
    /// Bytes of pages in the file that hold nothing. Costs a `mdb_stat` a table.
    func freeByteCount(_ tables: Tables) throws(StoreError) -> Int {
        // Two meta pages, then what the tables have.
        max(0, usedByteCount - (2 + (try tablePageCount(tables))) * pageByteCount)
    }

    /// Pages of all tables. Costs a `mdb_stat` a table.
    func tablePageCount(_ tables: Tables) throws(StoreError) -> Int {
        try StoreError.converting { () throws(LMDBError) in
            let transaction = try beginRead()
            return try transaction.pageCount(of: tables.all)
        }
    }
}

/// What publishes were refused for want of room: it has to fit before the store takes publishes again.
struct Refused: Equatable {
    /// The most that one would have added to `data.mdb`, in bytes; 0: none was refused.
    var growth = 0
    /// The most bytes that had come of one whose bytes could not be taken in; 0: none.
    var incomingByteCount = 0

    var isAny: Bool { growth > 0 || incomingByteCount > 0 }
}

extension SpaceReserve {
    /// What was refused and has not been found to fit since.
    var refused: Refused { state.withLock { $0.refused } }

    /// Notes a publish that was refused, unless it would not fit an empty store either.
    func noteRefused(growth: Int, payloadByteCount: Int) {
        let diskByteCount = Disk(environment.dataDescriptor)?.byteCount ?? .max
        let most = min(byteCountMax, diskByteCount, FileSizeLimit.byteCount)
        guard growth <= most - reserveByteCount else { return }
        state.withLock { $0.refused.growth = max($0.refused.growth, growth) }
        if payloadByteCount > StoreLimits.payloadInMemoryByteCountMax {
            noteRefused(incomingByteCount: payloadByteCount)
        }
    }

    /// Notes a payload whose bytes could not be taken in.
    func noteRefused(incomingByteCount: Int) {
        guard incomingByteCount <= FileSizeLimit.byteCount else { return }
        state.withLock {
            $0.refused.incomingByteCount = max($0.refused.incomingByteCount, incomingByteCount)
        }
    }

    /// What was refused has been found to fit; what was noted meanwhile stays.
    func forget(_ refused: Refused) {
        state.withLock { if $0.refused == refused { $0.refused = Refused() } }
    }

    /// Whether a payload of so many bytes could be taken in: the file for it is not the store's.
    func hasRoom(incoming byteCount: Int) -> Bool {
        guard byteCount > 0, let disk = Disk(environment.dataDescriptor) else { return true }
        return disk.availableByteCount >= byteCount
    }
}
