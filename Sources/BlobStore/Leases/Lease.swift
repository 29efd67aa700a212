internal import LMDB
internal import Synchronization

/// A promise that a blob's chunks stay where they are, also after the snapshot it was taken in has ended. A client
/// that takes an hour to read costs the blob's own bytes and nothing else.
public struct Lease: ~Copyable, Sendable {
    private let table: LeaseTable
    private let number: UInt64

    init(_ number: UInt64, in table: LeaseTable) {
        self.number = number
        self.table = table
        table.take(number)
    }

    deinit {
        table.release(number)
    }
}

/// What keeps blobs from being freed: how many leases each has, and what earlier runs may have sent zero-copy.
final class LeaseTable: Sendable {
    private let counts = Mutex(LeaseCounts())
    /// The first number of each backup's store that has no lease of it.
    private let backups = Mutex<[UInt64]>([])
    private let neverEnds = Atomic<Bool>(false)
    /// Blobs of this number and above are not freed: their bytes are yet to be shipped.
    let keepsFrom = Atomic<UInt64>(.max)
    /// What earlier runs may have sent zero-copy; nil while this one sends nothing so.
    let zeroCopyGrace = Mutex<ZeroCopyGrace?>(nil)
    /// Whether this process may send zero-copy: its start is on disk.
    let allowsZeroCopy = Atomic(false)

    func take(_ number: UInt64) {
        counts.withLock { $0.add(number) }
    }

    func release(_ number: UInt64) {
        guard !neverEnds.load(ordering: .acquiring) else { return }
        counts.withLock { $0.remove(number) }
    }

    /// Keeps every blob before a number, for a backup.
    func takeAll(before number: UInt64) {
        backups.withLock { $0.append(number) }
    }

    /// Ends what ``takeAll(before:)`` began; nothing where it did not.
    func releaseAll(before number: UInt64) {
        backups.withLock { numbers in
            if let index = numbers.firstIndex(of: number) { numbers.remove(at: index) }
        }
    }

    func keepAll() { neverEnds.store(true, ordering: .releasing) }

    func isHeld(_ number: UInt64) -> Bool {
        // Built with this condition, by `Scripts/torture churn --without-leases` and nothing else,
        // leases keep nothing: readers must then be seen to get wrong bytes, or the test that
        // compares them proves nothing.
        #if BLOBD_WITHOUT_LEASES
        false
        #else
        counts.withLock { $0.contains(number) }
            || backups.withLock { $0.contains { number < $0 } }
            || number >= keepsFrom.load(ordering: .acquiring)
        #endif
    }

    /// What may be freed now. `oldestViewed` is looked up before leases are: a lease is taken while the view it
    /// came from is still open.
    func freeingRule(oldestViewed: UInt64, bootMilliseconds: Int64?) -> FreeingRule {
        FreeingRule(
            oldestViewed: oldestViewed, leases: self, zeroCopyGrace: zeroCopyGrace.withLock { $0 },
            bootMilliseconds: bootMilliseconds)
    }

    var count: Int {
        counts.withLock { $0.total }
    }
}

/// Leases that end one after the other as a receiver reads: each is held up to a position in the stream of bytes it
/// was sent. Those still held when the queue ends are given up then.
public struct LeaseQueue: ~Copyable {
    private struct Entry {
        var number: UInt64
        var position: Int
    }

    private let table: LeaseTable
    /// Oldest first. It stays short, so taking from its front is cheap.
    private var entries: [Entry] = []

    init(in table: LeaseTable) { self.table = table }

    deinit {
        for entry in entries { table.release(entry.number) }
    }

    /// How many leases are held.
    public var count: Int { entries.count }
    /// Whether no lease is held.
    public var isEmpty: Bool { entries.isEmpty }

    /// Keeps a blob's chunks where they are until the receiver has read up to `position`.
    ///
    /// - Parameters:
    ///   - blob: found in a snapshot that is open, or leased otherwise.
    ///   - position: not less than that of the lease taken before.
    public mutating func take(_ blob: BlobReference, until position: Int) {
        if let last = entries.indices.last, entries[last].number == blob.number {
            entries[last].position = position
            return
        }
        table.take(blob.number)
        entries.append(Entry(number: blob.number, position: position))
    }

    /// Ends the leases of what the receiver has read.
    ///
    /// - Parameter position: everything before it has been read.
    public mutating func release(upTo position: Int) {
        var done = 0
        while done < entries.count, entries[done].position <= position {
            table.release(entries[done].number)
            done += 1
        }
        guard done > 0 else { return }
        if done == entries.count {
            entries.removeAll(keepingCapacity: true)
        } else {
            entries.removeFirst(done)
        }
    }

    /// Gives its memory back when it is empty, for a receiver that has become quiet.
    public mutating func shrink() {
        if entries.isEmpty { entries = [] }
    }
}

/// Where borrowed bytes lie in `data.mdb`, to be sent from there (`sendfile`). On an `AF_UNIX` socket the kernel
/// hands the pages themselves to the receiver: keep a lease until it has read them.
public struct DataPages: Sendable {
    private let file: MappedFile

    init(_ file: MappedFile, pageByteCount: Int) {
        self.file = file
        stretchByteCountMin = max(Self.byteCountMin, pageByteCount)
    }

    /// The descriptor of `data.mdb`. It belongs to the store; use it while the store is there, and
    /// only to send from.
    public var descriptor: Int32 { file.descriptor }

    /// How many bytes a stretch must have at least, so that a lease keeps its pages. A short chunk shares its page
    /// with other entries, and is copied with them when one changes. LMDB gives a value pages of its own when it is
    /// longer than about half a page; this is a whole one.
    public let stretchByteCountMin: Int

    /// For the shortest pages: nothing shorter is sent from any store's file.
    public static let byteCountMin = 4_096

    /// Where in the file a stretch begins; nil where it is in memory, not in the file yet.
    ///
    /// - Parameter bytes: of ``Snapshot/storedBytes(of:from:)``, from this store.
    @inline(__always)
    public func offset(of bytes: UnsafeRawPointer) -> Int? {
        file.contains(bytes) ? file.offset(of: bytes) : nil
    }
}

/// Which orphans may have pages with the peers of a run that has ended. What earlier runs sent is not known; so
/// whatever they could have sent stays as it is until their peers have had a while to read.
struct ZeroCopyGrace {
    let mark: ZeroCopyMark
    let graceMilliseconds: Int64
    /// When this run began, in milliseconds of the boot clock.
    let start: Int64
    /// Blobs from this number on are this run's: no earlier one sent them.
    let firstOwnNumber: UInt64

    /// Whether it is over for a blob that is not an orphan: earlier runs could send it until this one began.
    func isOver(for number: UInt64, bootMilliseconds: Int64?) -> Bool {
        graceMilliseconds <= 0 || number >= firstOwnNumber
            || ZeroCopyMark.isOver(graceMilliseconds, after: start, at: bootMilliseconds)
    }

    /// Whether no peer of an earlier run can be reading it any more.
    func isReturned(_ number: UInt64, _ entry: BlobStateEntry, bootMilliseconds: Int64?) -> Bool {
        // Nothing ever referred to it, so nobody could ask for it.
        if entry.state == .staged || graceMilliseconds <= 0 { return true }
        // Too short for any stretch of it to be sent zero-copy.
        if entry.storedByteCount < DataPages.byteCountMin { return true }
        if entry.transaction <= mark.returnedTransaction || number >= firstOwnNumber { return true }
        let moment = entry.transaction <= mark.transaction ? mark.moment : start
        return ZeroCopyMark.isOver(graceMilliseconds, after: moment, at: bootMilliseconds)
    }
}

/// Which orphans nobody can be reading.
struct FreeingRule {
    /// Orphans of later transactions have to wait.
    var oldestViewed: UInt64
    let leases: LeaseTable
    let zeroCopyGrace: ZeroCopyGrace?
    let bootMilliseconds: Int64?

    func allows(_ number: UInt64, _ entry: BlobStateEntry) -> Bool {
        entry.transaction <= oldestViewed && !leases.isHeld(number)
            && zeroCopyGrace?.isReturned(number, entry, bootMilliseconds: bootMilliseconds) != false
    }
}
