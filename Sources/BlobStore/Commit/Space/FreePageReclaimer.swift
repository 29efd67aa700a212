internal import CLinux
internal import Glibc
internal import LMDB
internal import Synchronization

/// What one step has given back to the file system.
public struct ReclaimResult: Sendable, Hashable {
    /// Bytes of the pages that were punched.
    public var byteCount = 0
    /// Whether there is more to give back, so that another step is worth while.
    public var more = false
    /// Why pages could not be given back, if so. They are tried again later, unless the file system never can.
    public var failure: StoreError?
    /// Whether the last commit has freed pages, which are given back after the next one.
    var awaitsCommit = false
}

/// Gives free pages of `data.mdb` back to the file system, by punching holes.
///
/// A page may be punched when it was freed by a commit before the last one, and before the oldest that a reader
/// sees. A commit writes to such pages, so this runs while there is none. Those that were freed first stay allocated, since
/// LMDB takes them next: a store that is published to and expires at the same rate would punch what it is about to write.
final class FreePageReclaimer: Sendable {
    private let core: StoreCore
    private var environment: Environment { core.environment }
    private let state = Mutex(State())

    private struct State {
        /// Where the next step continues: before the record of this commit; nil: at the end of the free
        /// list.
        var position: UInt64?
        /// Whether pages are punched until half of what may stay allocated is left.
        var isReclaiming = false
        var isSupported = true
        /// What the last punch that failed said, until that is told.
        var failure: Int32?
        /// When the list is walked again after a walk that found nothing to punch, or met a failure: what is free may
        /// be visible to a reader.
        var nextWalk = ContinuousClock.now
    }

    /// Bytes that one call punches at the most, so that nobody waits for the file's lock for long.
    private static let punchedByteCountMax = 1 << 20
    /// How long a change waits for room at the most, in microseconds.
    private static let microsecondsForWriting = 1_000_000
    /// The least that an empty commit is made for, in bytes.
    private static let committedByteCountMin = 256 << 10
    /// How long the list is left alone after a walk that found nothing.
    private static let pause = Duration.seconds(10)

    init(_ core: StoreCore) { self.core = core }

    /// What has failed since it was asked last.
    func takeFailure() -> StoreError? {
        let number = state.withLock { $0.failure.take() }
        return number.map { .io(operation: "fallocate \(DataFile.name)", errno: $0) }
    }

    var allocatedByteCount: Int {
        FileExtent(environment.dataDescriptor)?.allocatedByteCount ?? 0
    }

    /// Punches for about so long, while no transaction is open.
    func reclaim(
        microsecondsMax: Int, keeping keptByteCount: Int
    ) throws(StoreError) -> ReclaimResult {
        var state = state.withLock { $0 }
        defer { self.state.withLock { $0 = state } }
        guard state.isSupported, let file = FileExtent(environment.dataDescriptor) else {
            return ReclaimResult()
        }
        let used = environment.usedByteCount
        let inUse = used - (try environment.freeByteCount(core.tables))
        // After the last page is what was allocated ahead.
        let end = max(0, file.byteCount - used)
        let excess = file.allocatedByteCount - inUse - end
        let most = max(
            core.adjustable.withLock { $0.freeAllocatedByteCountMin },
            inUse / StoreLimits.freeAllocatedPart, keptByteCount)
        if excess > most { state.isReclaiming = true }
        if excess <= most / 2 { state.isReclaiming = false }
        guard state.isReclaiming, ContinuousClock.now >= state.nextWalk else {
            return ReclaimResult()
        }
        let wanted = excess - most / 2
        do throws(LMDBError) {
            let punched = try punch(wanted, microsecondsMax: microsecondsMax, &state)
            let isAtEnd = state.position == nil
            if state.failure != nil, isAtEnd {
                state.nextWalk = .now + Self.pause
                return ReclaimResult(byteCount: punched)
            }
            if isAtEnd, punched == 0 {
                // An empty commit frees some pages itself.
                let awaitsCommit = try lastCommitHasFreed(
                    max(wanted / 4, Self.committedByteCountMin))
                if !awaitsCommit { state.nextWalk = .now + Self.pause }
                return ReclaimResult(more: awaitsCommit, awaitsCommit: awaitsCommit)
            }
            return ReclaimResult(
                byteCount: punched, more: state.isSupported && punched < wanted)
        } catch {
            throw StoreError(error)
        }
    }

    /// Whether the last commit has freed many pages, which no reader sees and the next commit makes free.
    private func lastCommitHasFreed(_ byteCount: Int) throws(LMDBError) -> Bool {
        let oldest = environment.oldestReader()
        let view = try environment.beginRead()
        guard oldest ?? .max >= view.id else { return false }
        var list = try FreeList(view)
        guard try list.move(before: .max), list.commit >= view.id else { return false }
        return list.count * environment.pageByteCount >= byteCount
    }

    /// Punches free pages at once: room for those that were punched before and are written now.
    func reclaimForWriting(byteCount: Int) {
        state.withLock { state in
            state.position = nil
            guard state.isSupported else { return }
            // What cannot be walked gives nothing; the change says what is wrong with it.
            _ = try? punch(byteCount, microsecondsMax: Self.microsecondsForWriting, &state)
        }
    }

    /// Punches free pages, those that were freed last first. Returns how many bytes were punched.
    private func punch(
        _ wanted: Int, microsecondsMax: Int, _ state: inout State
    ) throws(LMDBError) -> Int {
        let begin = ContinuousClock.now
        let oldest = environment.oldestReader()
        let view = try environment.beginRead()
        let end = min(view.id, oldest ?? .max)
        var list = try FreeList(view)
        var isThere = try list.move(before: min(state.position ?? end, end))
        state.position = nil
        var punched = 0
        while isThere {
            var runs = PageRuns()
            for index in 0..<list.count where punched < wanted && state.isSupported {
                if let run = runs.add(Int(clamping: list.page(index))) {
                    punched += punch(run, &state)
                }
            }
            if let run = runs.last, punched < wanted, state.isSupported {
                punched += punch(run, &state)
            }
            guard state.isSupported, punched < wanted else { break }
            if begin.duration(to: .now) > .microseconds(microsecondsMax) {
                state.position = list.commit
                break
            }
            isThere = try list.moveToPrevious()
        }
        return punched
    }

    /// Punches pages, unless they are a hole already. Returns how many bytes they have; 0 when nothing was
    /// punched. A failure (a full disk, one that fails) is noted, and ends nothing: others are punched, and these later.
    private func punch(_ pages: Range<Int>, _ state: inout State) -> Int {
        let descriptor = environment.dataDescriptor
        let lower = pages.lowerBound * environment.pageByteCount
        let byteCount = pages.count * environment.pageByteCount
        // Never the meta pages, and nothing after the last page in use.
        guard pages.lowerBound >= 2, lower + byteCount <= environment.usedByteCount else {
            return 0
        }
        let data = clinux_next_data(descriptor, Int64(lower))
        guard data >= 0, data < lower + byteCount else { return 0 }
        var offset = 0
        while offset < byteCount {
            let count = min(byteCount - offset, Self.punchedByteCountMax)
            let failure = clinux_punch_hole(descriptor, Int64(lower + offset), Int64(count))
            guard failure == 0 else {
                state.failure = failure
                if Self.meansUnsupported(failure) { state.isSupported = false }
                return offset
            }
            offset += count
        }
        return byteCount
    }
}

extension FreePageReclaimer {
    /// Whether no later punch can succeed: the file system, or the kernel, has none.
    static func meansUnsupported(_ number: Int32) -> Bool {
        number == EOPNOTSUPP || number == ENOSYS
    }
}

/// Collects descending page numbers to runs of neighbours.
private struct PageRuns {
    private(set) var last: Range<Int>?

    /// Adds a page. Returns the run before it, when the page does not belong to that.
    mutating func add(_ page: Int) -> Range<Int>? {
        if let run = last, page == run.lowerBound - 1 {
            last = page..<run.upperBound
            return nil
        }
        defer { last = page..<page + 1 }
        return last
    }
}
