internal import Bytes
internal import Glibc
internal import Synchronization

/// How much was acknowledged and is not in `data.mdb` yet, for other processes: counts in the file `changes.pending`.
/// Who reads waits once for a commit, and who writes next learns how many batches must be in the log. It need not
/// survive a power cut, and is cleared once all that the log has is committed. When a log begins it is synced.
///
///     word 0     how many batches are not committed; 0: all is
///     word 1     how often somebody has asked the writer for a commit
///     word 2     how often what was in the log was committed
///     word 3     the last transaction of those batches, and in the last 16 bits how many there are of it
///     word 4     how many changes are in all of them
///     word 5     like word 3, but of the batches that are synced
///     word 6     like word 5, of the transaction before
@safe package struct PendingCounts: @unchecked Sendable {
    // Sendable: the pointers never change, and what they point to is atomic.
    /// In the process that writes its own, which the file gets a copy of; in others those of the file.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    /// Those of the file, to be read.
    private let shared: UnsafeMutablePointer<Atomic<UInt64>>
    /// The file, to be written to: not through its map, where a disk without room would be a signal (SIGBUS). -1:
    /// it may only be read, or is not there.
    private let descriptor: Int32
    private let isWriter: Bool

    static var fileName: String { DataFile.pendingName }

    private static let byteCount = 4 << 10
    private static let wordCount = 7
    private static let wordByteCount = MemoryLayout<UInt64>.size

    /// Maps the file of a store. What an earlier writer left in it stays until ``clear()``. A reader that finds no
    /// such file, and cannot make one, takes it that nothing ever is pending.
    init(_ directory: String, isWriter: Bool) throws(StoreError) {
        let path = "\(directory)/\(Self.fileName)"
        self.isWriter = isWriter
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o660)
        do throws(StoreError) {
            shared = try Self.mapFile(path, descriptor, isWriter: isWriter)
        } catch {
            close(descriptor)
            throw error
        }
        words = isWriter ? try Self.map(-1, Self.byteCount) : shared
        guard isWriter else { return }
        for index in 0..<Self.wordCount {
            words[index].store(shared[index].load(ordering: .relaxed), ordering: .relaxed)
        }
    }

    private static func mapFile(
        _ path: String, _ writable: Int32, isWriter: Bool
    ) throws(StoreError) -> UnsafeMutablePointer<Atomic<UInt64>> {
        var descriptor = writable
        var number = errno
        if descriptor < 0, !isWriter {
            descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            number = errno
        }
        defer { if descriptor != writable { close(descriptor) } }
        guard descriptor >= 0 else {
            // On a read-only file system it cannot be made.
            guard !isWriter, number == ENOENT else { throw .system("open \(path)", number) }
            return try map(-1, byteCount)
        }
        // Allocated, so that it is not the first thing for which there is no room.
        if writable >= 0 {
            let number = posix_fallocate(writable, 0, off_t(byteCount))
            guard number == 0 else { throw .system("posix_fallocate \(path)", number) }
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size >= byteCount else {
            throw .io(operation: "read \(path) (too short)", errno: EIO)
        }
        return try map(descriptor, byteCount)
    }

    /// Memory of this process, or a file to be read.
    private static func map(
        _ descriptor: Int32, _ byteCount: Int
    ) throws(StoreError) -> UnsafeMutablePointer<Atomic<UInt64>> {
        let isFile = descriptor >= 0
        let memory = mmap(
            nil, byteCount, isFile ? PROT_READ : PROT_READ | PROT_WRITE,
            isFile ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, descriptor, 0)
        guard let memory, memory != MAP_FAILED else { throw .system("mmap \(fileName)") }
        // The map has so many bytes and begins at a page; any bytes are words.
        return memory.bindMemory(to: Atomic<UInt64>.self, capacity: byteCount / wordByteCount)
    }

    /// Unmaps it. Nothing of this may be used after it.
    func unmap() {
        munmap(shared, Self.byteCount)
        if isWriter { munmap(words, Self.byteCount) }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether all that was acknowledged is in `data.mdb`.
    package var isEmpty: Bool {
        @inline(__always)
        get { words[0].load(ordering: .acquiring) == 0 }
    }

    /// How many batches were acknowledged and are not in `data.mdb`.
    package var batchCount: UInt64 { words[0].load(ordering: .acquiring) }

    /// How often what was in the log was committed.
    package var commitCount: UInt64 { words[2].load(ordering: .acquiring) }

    /// Only in processes that read. A request that another one overwrites is not missed: each asks until the commit.
    func requestCommit() {
        guard descriptor >= 0 else { return }
        write([commitRequestCount &+ 1], at: 1)
    }

    package var commitRequestCount: UInt64 { shared[1].load(ordering: .relaxed) }

    /// Returns false when the disk has no room.
    @discardableResult
    private func write(_ words: [UInt64], at index: Int) -> Bool {
        FileBytes.write(words.span.bytes, at: index * Self.wordByteCount, to: descriptor)
    }

    /// Copies the words to the file, where other processes read them.
    @discardableResult
    private func publish() -> Bool {
        var copy = (0..<Self.wordCount).map { words[$0].load(ordering: .relaxed) }
        copy[1] = commitRequestCount
        return write(copy, at: 0)
    }

    // The writer's part.

    /// Counts one more batch of a transaction, before it is written to the log. Returns false when the disk has no
    /// room to say so: the batch must not come into the log then, and ``removeBatch(after:)`` takes it back.
    func addBatch(of transaction: UInt64, changeCount: Int) -> Bool {
        let mark = mark
        let isFirst = mark.last.transaction != transaction
        let batchCount = isFirst ? 1 : UInt64(mark.last.batchCount) + 1
        let changes = (isEmpty ? 0 : mark.changeCount) + changeCount
        if isFirst {
            // All of them are synced.
            words[6].store(words[5].load(ordering: .relaxed), ordering: .relaxed)
        }
        words[4].store(UInt64(changes), ordering: .relaxed)
        words[3].store(
            transaction << Self.batchCountBits | min(batchCount, Self.batchCountMax),
            ordering: .relaxed)
        words[0].wrappingAdd(1, ordering: .releasing)
        return publish()
    }

    /// Takes back the batch that was counted last: it does not come into the log.
    func removeBatch(after mark: Mark) {
        words[4].store(UInt64(mark.changeCount), ordering: .relaxed)
        words[3].store(
            mark.last.transaction << Self.batchCountBits | UInt64(mark.last.batchCount),
            ordering: .relaxed)
        words[0].wrappingSubtract(1, ordering: .releasing)
        publish()
    }

    /// The batches that were counted are on disk. A log that has fewer after a crash was damaged.
    func noteSynced() {
        let batches = words[3].load(ordering: .relaxed)
        words[5].store(batches, ordering: .relaxed)
        write([batches], at: 5)
    }

    /// It outlives the process that counted, though not always the machine: it may be of any time before.
    struct Mark: Equatable {
        /// The batches of one transaction.
        struct Batches: Equatable {
            var transaction: UInt64 = 0
            /// The last of them may have been in writing.
            var batchCount = 0
            /// Those that were synced.
            var syncedBatchCount = 0
        }

        var last = Batches()
        /// Of the transaction before that of the last ones; it may be committed.
        var before = Batches()
        /// Changes in all batches.
        var changeCount = 0
    }

    /// What was last counted. One word has what must agree, so a page that was written to the disk
    /// in the middle of a change makes nothing up.
    var mark: Mark {
        func batches(_ index: Int) -> (transaction: UInt64, count: Int) {
            let word = words[index].load(ordering: .relaxed)
            return (word >> Self.batchCountBits, Int(word & Self.batchCountMax))
        }
        let (last, synced, before) = (batches(3), batches(5), batches(6))
        return Mark(
            last: Mark.Batches(
                transaction: last.transaction, batchCount: last.count,
                syncedBatchCount: synced.transaction == last.transaction ? synced.count : 0),
            before: Mark.Batches(
                transaction: before.transaction == last.transaction ? 0 : before.transaction,
                batchCount: before.count, syncedBatchCount: before.count),
            changeCount: Int(truncatingIfNeeded: words[4].load(ordering: .relaxed) & 0xFFFF_FFFF))
    }

    /// The transaction of the batch that was counted last; 0: all is committed.
    package var lastTransaction: UInt64 {
        words[3].load(ordering: .relaxed) >> Self.batchCountBits
    }

    private static let batchCountBits: UInt64 = 16
    /// More than the log has room for.
    private static let batchCountMax: UInt64 = 0xFFFF

    /// Some of the batches are committed, and others are not.
    func noteCommitted(batchCount: UInt64) {
        words[0].wrappingSubtract(
            min(batchCount, words[0].load(ordering: .relaxed)), ordering: .releasing)
        words[2].wrappingAdd(1, ordering: .releasing)
        publish()
    }

    /// From now on a power cut leaves nothing in the file that was counted before: a transaction's number may be
    /// another one's in the next `data.mdb`.
    func sync() throws(StoreError) {
        guard fdatasync(descriptor) == 0 else { throw .system("fdatasync \(Self.fileName)") }
    }

    /// Returns false when the disk has no room to say so: then other processes wait until the next commit.
    @discardableResult
    func clear() -> Bool {
        words[0].store(0, ordering: .releasing)
        for index in [3, 5, 6] { words[index].store(0, ordering: .relaxed) }
        words[2].wrappingAdd(1, ordering: .releasing)
        return publish()
    }
}
