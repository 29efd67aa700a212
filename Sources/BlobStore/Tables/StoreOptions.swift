/// How a store is opened.
public struct StoreOptions: Sendable {
    /// The most `data.mdb` may grow to, in bytes. It is address space, set aside once.
    public var mapByteCountMax = StoreLimits.mapByteCountDefault
    /// Snapshots open at once, in all processes together.
    public var readerCountMax = StoreLimits.readerCountMaxDefault
    /// Bytes of one payload.
    public var payloadByteCountMax = StoreLimits.payloadByteCountMaxDefault

    /// Free pages stay allocated up to so many bytes, or ``StoreLimits/freeAllocatedPart`` of the pages in
    /// use if that is more; see ``BlobStore/reclaimFreePages(microsecondsMax:keeping:)``.
    public var freeAllocatedByteCountMin = StoreLimits.freeAllocatedByteCountMin

    /// How long a deletion is remembered for who was away, in milliseconds.
    public var tombstoneRetentionMilliseconds =
        StoreLimits.tombstoneRetentionMillisecondsDefault
    /// Watchers at once.
    public var watcherCountMax = StoreLimits.watcherCountMaxDefault
    /// Watchers of one owner at once.
    public var watcherCountPerOwnerMax = StoreLimits.watcherCountPerOwnerMaxDefault
    /// Watchers of one peer at once; nil: three quarters of ``watcherCountMax``. Only watchers
    /// that say which peer they are count.
    public var watcherCountPerPeerMax: Int?

    /// How much there may be.
    public var quotas = Quotas()

    /// For reading: whether the store is opened as `data.mdb` has it, without what a daemon has only in its log.
    /// Else opening waits a moment for that, and a store whose daemon died with something in the log is refused.
    public var ignoresLog = false

    /// For writing: whether the store is opened without its log (`changes.log`) where that is missing, cut short,
    /// damaged or another's, or an empty one is created where only the log is left. Acknowledged changes that were only
    /// there are lost then.
    public var discardsLog = false

    /// For writing: whether a change is acknowledged once it is in a write-ahead log (`changes.log`): one sync of a few
    /// blocks, instead of two and all pages that it touches. A thread of the store commits what is in the log, within a
    /// second or when another process opens the store for reading; this process reads a change at once. A long payload
    /// (``StoreLimits/loggedBatchByteCountMax``) is committed as without a log. It takes a file of
    /// ``StoreLimits/logByteCount`` bytes, and up to about as much memory for what is not committed. Where the disk has no
    /// room for the file, changes are committed one by one until it has.
    ///
    /// End it with ``BlobStore/close()``, or by releasing the store. After a crash the next opening for writing commits
    /// what is in the log; until then opening it for reading is refused. Off by default: without it a process that exits
    /// leaves nothing to be done, and no thread runs that the program did not start.
    public var usesWriteAheadLog = false

    /// Called with what was found in the log, on the opening thread, before the store is handed out; later on another
    /// thread, with what is left out of a commit, and when there is room for the log again. It must not keep, change or close the store.
    public var onLogNotice: (@Sendable (LogNotice) -> Void)?

    /// For writing: whether who opens it knows that it may belong to a shard. A store that does is refused
    /// otherwise.
    package var isReplicated = false
    /// Whether blobs may be evicted whose bytes are in a bucket.
    package var evictsBlobs = false
    /// How long the pages of a store are that is made: a power of two from 512 to 32,768. nil: as
    /// the machine has them.
    package var pageByteCount: Int?
    /// Called while the store is locked and not mapped yet. What it throws is why the store is not opened.
    package var beforeMapping: (@Sendable (String) throws(StoreError) -> Void)?
    /// Where a verification notes how far it is.
    package var walkPosition: WalkPosition?

    /// The defaults.
    public init() {}

    func check(_ directory: String) throws(StoreError) {
        let rules = [
            ("mapByteCountMax", mapByteCountMax, StoreLimits.mapByteCountRange),
            ("readerCountMax", readerCountMax, StoreLimits.readerCountRange),
            ("payloadByteCountMax", payloadByteCountMax, 0...StoreLimits.payloadByteCountMax),
        ]
        for (name, value, range) in rules where !range.contains(value) {
            throw .cannotOpen(
                path: directory,
                reason:
                    "\(name) is \(value); it must be \(range.lowerBound) to \(range.upperBound)")
        }
    }
}

/// The options of a store that may change while it is open. Each is read once for what it limits: a
/// payload, a transaction, a step of maintenance.
struct AdjustableOptions {
    var payloadByteCountMax: Int
    var tombstoneRetentionMilliseconds: Int64
    var freeAllocatedByteCountMin: Int
    /// How much there may be.
    var quotas: Quotas

    init(_ options: StoreOptions) {
        payloadByteCountMax = options.payloadByteCountMax
        tombstoneRetentionMilliseconds = options.tombstoneRetentionMilliseconds
        freeAllocatedByteCountMin = options.freeAllocatedByteCountMin
        quotas = options.quotas
    }
}

/// What a store found in its log (`changes.log`), or could not do with what is in it.
public enum LogNotice: Sendable, Hashable, CustomStringConvertible {
    /// Changes that were acknowledged and only in the log were committed.
    case replayed(changes: Int)
    /// The last record was not whole. It was being written when the process ended; or it was
    /// acknowledged, and damaged later.
    case lastRecordDropped
    /// The log could not be used, and the store was opened without it (``StoreOptions/discardsLog``).
    case discarded(reason: String)
    /// An entry that acknowledged changes have written could not be put into `data.mdb`, since a page where it belongs
    /// is damaged. It is lost, and all other changes are committed.
    case leftOut(reason: String)
    /// The disk has no room for a log (``StoreOptions/usesWriteAheadLog``). It is tried again.
    case lacksRoom
    /// The log has begun for which there was no room.
    case hasRoomAgain

    /// What it means.
    public var description: String {
        switch self {
        case .replayed(let changes): "Replayed \(changes) changes from changes.log"
        case .lastRecordDropped:
            "Dropped the incomplete last record of changes.log: an interrupted write, or an acknowledged change that was damaged later"
        case .discarded(let reason): "Opened without changes.log: \(reason)"
        case .leftOut(let reason):
            "Lost an entry of an acknowledged change, whose page is damaged: \(reason). Run blobd verify"
        case .lacksRoom:
            "No space for the write-ahead log: each change is committed before it is acknowledged"
        case .hasRoomAgain: "There is space for the write-ahead log again"
        }
    }
}
