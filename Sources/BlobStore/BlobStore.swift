internal import LMDB
internal import Synchronization

/// Payloads of notifications, content-addressed, in one LMDB file.
///
/// A blob is stored once, however many notifications refer to it. A change that was answered is on
/// disk. A read costs two B-tree lookups and no copy, and never returns what has expired.
///
/// ```swift
/// let store = try BlobStore.open(at: "data")
/// var writer = store.makePayloadWriter()
/// try writer.append(image.span.bytes)
/// let payload = try writer.finish(mediaType: "image/png")
/// try store.publish(
///     Publication(id: "42", payload: payload, expiry: .at(now.adding(seconds: 3_600))), asOf: now)
/// let sum = try store.withPayload(for: "42", asOf: now) { payload in payload.byteCount }
/// ```
public final class BlobStore: Sendable {
    /// How a store is opened.
    public struct Options: Sendable {
        /// The most `data.mdb` may grow to, in bytes. It is address space, set aside once.
        public var mapByteCountMax = StoreLimits.mapByteCountDefault
        /// Snapshots open at once, in all processes together.
        public var readerCountMax = StoreLimits.readerCountMaxDefault
        /// Bytes of one payload.
        public var payloadByteCountMax = StoreLimits.payloadByteCountMaxDefault

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

        /// For a store that is opened for reading: whether it is opened as `data.mdb` has it, without
        /// what a daemon has acknowledged and has in its log alone. Else opening waits a moment for
        /// that, and a store whose daemon died with something in the log is refused.
        public var ignoresLog = false

        /// For a store that is opened for writing: whether it is opened without its log
        /// (`changes.log`) where that is missing, cut short, damaged or another's. Acknowledged
        /// changes that were only there are lost then. A log that is as it has to be is used.
        public var discardsLog = false

        /// Called with what was found in the log, before the store is handed out. On the opening
        /// thread.
        public var onLogNotice: (@Sendable (LogNotice) -> Void)?

        /// How long the pages of a store are that is made: a power of two from 512 to 32,768. nil: as
        /// the machine has them.
        package var pageByteCount: Int?
        /// Called while the store is locked and not mapped yet, with its folder; what it throws is
        /// why the store is not opened.
        package var beforeMapping: (@Sendable (String) throws(StoreError) -> Void)?
        /// Where a verification notes how far it is.
        package var walkPlace: WalkPlace?

        /// The defaults.
        public init() {}

        /// Refuses what no store can be opened with.
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
                        "\(name) is \(value); it must be \(range.lowerBound) to \(range.upperBound)"
                )
            }
        }
    }

    /// Which store it is; made when it was created.
    public let id: StoreID

    /// The folder it is in.
    public let directory: String

    /// How it was opened.
    public let options: Options

    /// True when it was opened by ``openReadOnly(at:options:)``.
    public var isReadOnly: Bool { environment.isReadOnly }

    /// Who waits for which owner's changes.
    public let feedWatch: FeedWatch

    let environment: Environment
    /// The environment's read transactions: here as a plain value, so that a snapshot counts no
    /// reference on its way to them.
    let readers: ReaderSlots
    let tables: Tables
    let leases = LeaseTable()
    let verifiedChunks = VerifiedSet()
    let verifiedRecords = VerifiedSet()
    let space: SpaceReserve
    /// Which notifications, blobs and owners have changes that no snapshot has yet.
    package let unsettled: UnsettledKeys
    /// Used inside `writing`.
    let settlement = Settlement()
    /// The counters with all that is in the log and not committed; nil: nothing is. Set inside
    /// `writing`.
    let pendingCounters = Mutex<Counters?>(nil)
    /// The last transaction that this process committed; 0: none yet.
    let lastCommit = Atomic<UInt64>(0)
    /// What earlier runs may have lent; nil while this one lends nothing. Taken alone or inside
    /// `writing`.
    let lending = Mutex<PageLending?>(nil)
    let hasBegunLending = Atomic(false)
    /// Where changes look for orphans to free. Taken alone or inside `writing`.
    let freeing = Mutex(FreeingPlace())
    /// Whether this process has edited a category, and owners are yet to be told of it.
    let categoryEdits = Atomic(false)
    /// One change at a time. Taken before LMDB's own write lock, and never inside a lease's.
    let writing = Mutex<Void>(())
    /// Why nothing is written any more by this process: a sync failed. nil while all is well. Taken
    /// alone or inside `writing`.
    let syncFailure = Mutex<String?>(nil)
    /// Keeps other daemons out; nil when read-only.
    private let directoryLock: DirectoryLock?

    init(
        _ environment: Environment, tables: Tables, format: FormatRecord, directory: String,
        options: Options, lock: DirectoryLock?, unsettled: UnsettledKeys
    ) {
        self.environment = environment
        readers = environment.readers.slots
        self.tables = tables
        self.directory = directory
        self.options = options
        id = format.storeID
        feedWatch = FeedWatch(
            watcherCountMax: options.watcherCountMax,
            perOwnerMax: options.watcherCountPerOwnerMax,
            perPeerMax: options.watcherCountPerPeerMax)
        space = SpaceReserve(environment, tables, options)
        self.unsettled = unsettled
        directoryLock = consume lock
    }

    deinit { unsettled.unmap() }
}
