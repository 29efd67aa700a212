internal import Notifications

/// Every limit of the store, in one place.
public enum StoreLimits {
    /// Bytes of UTF-8 in a notification id.
    public static var idByteCountMax: Int { TextKind.id.byteCountMax }
    /// Bytes of UTF-8 in an owner.
    public static var ownerByteCountMax: Int { TextKind.owner.byteCountMax }
    /// Bytes of UTF-8 in a message.
    public static var messageByteCountMax: Int { TextKind.message.byteCountMax }
    /// Bytes of UTF-8 in a notification's title.
    public static var titleByteCountMax: Int { TextKind.title.byteCountMax }
    /// Bytes of UTF-8 in the name of an app.
    public static var appByteCountMax: Int { TextKind.app.byteCountMax }
    /// Parts of one notification.
    public static let partCountMax = 32
    /// Bytes of UTF-8 in a category's name.
    public static var categoryByteCountMax: Int { TextKind.category.byteCountMax }
    /// Categories of a store.
    public static let categoryCountMax = 1_000
    /// Notifications that one step looks at when owners are told of a category's edit.
    static let categoryEditRecordCountMax = 2_048
    /// Owners that one such step tells.
    static let categoryEditOwnerCountMax = 64
    /// Bytes of UTF-8 in a group's name.
    public static var groupByteCountMax: Int { TextKind.group.byteCountMax }
    /// Bytes of UTF-8 in a platform's name.
    public static var platformByteCountMax: Int { TextKind.platform.byteCountMax }
    /// Bytes of UTF-8 in a target host.
    public static var targetHostByteCountMax: Int { TextKind.targetHost.byteCountMax }
    /// Platforms that a notification is for.
    public static let platformCountMax = 16
    /// Actions of a notification or a category.
    public static let actionCountMax = 10
    /// Bytes of UTF-8 in an action's identifier.
    public static var actionIdentifierByteCountMax: Int { TextKind.actionIdentifier.byteCountMax }
    /// Bytes of UTF-8 in an action's title.
    public static var actionTitleByteCountMax: Int { TextKind.actionTitle.byteCountMax }
    /// Bytes of a notification's JSON data, minified.
    public static let dataByteCountMax = 16_384
    /// Bytes of UTF-8 in a device's name.
    public static var deviceByteCountMax: Int { TextKind.device.byteCountMax }
    /// Responses a notification keeps, the latest ones.
    public static let responseCountMax = 32
    /// Seconds a notification should be shown at the most.
    public static let displayTTLSecondsMax: UInt32 = 2_592_000
    /// Bytes of a key in `data.mdb` (LMDB's `MDB_MAXKEYSIZE`).
    static let keyByteCountMax = 511
    /// By one of these, at random, a restored store's revisions and assigned ids are higher than its backup's:
    /// none that was given after the backup is given again, and two stores that are restored from one backup
    /// give different ones.
    public static let restoredGaps: ClosedRange<UInt64> = 1 << 40...1 << 41
    /// Epochs of a shard that its stores remember. A cursor from before the oldest is answered with `resync`.
    public static let epochCountMax = 1_024
    /// By so much the revisions, assigned ids and blob numbers of a new leader begin after those that it found:
    /// more than the leader before can have given and not shipped.
    public static let failoverGap: UInt64 = 1 << 32
    /// By up to so much, at random, the revisions and assigned ids of a leader begin later that is started without
    /// its bucket. A failover's gap has room for more than a hundred such starts in a row.
    public static let unconfirmedGapMax: UInt64 = 1 << 26
    /// Shipped batches that are removed with one commit.
    static let outboxRemovedCountMax = 1_024
    /// Names of the log without changes that a start after a crash may have to read again: some 20 minutes of
    /// heartbeats.
    static let unsavedPositionCountMax: UInt64 = 256
    /// Bytes of a batch that is shipped, without its payloads.
    static let replicatedBatchByteCountMax = 64 << 20
    /// Stores that a restored store remembers to come from. What a cursor of an older one gets is the
    /// error of any other store's.
    public static let predecessorCountMax = 64
    /// Bytes of a record, without its parts' bytes.
    public static let recordByteCountMax = 65_536
    /// Changes or records in one page.
    public static var feedPageLimitMax: Int { PageLimits.entryCountMax }
    /// Bytes of records in one page, as they are stored. A page has at least one record. As a
    /// document they are at most about four times as many.
    public static let pageByteCountMax = 256 << 10
    /// Bytes of records that are read for one page, those that a filter leaves out included. It
    /// bounds the time of one page to about a millisecond.
    public static let pageByteCountReadMax = 1 << 20
    /// Entries that one page of a feed looks at.
    public static let feedEntriesLookedAtMax = 8_192
    /// Entries that one page of a history looks at.
    public static let historyEntriesLookedAtMax = 4_096
    /// Entries that one page of a list looks at.
    public static let listEntriesLookedAtMax = 4_096
    /// Notifications that one step of a long change looks at.
    public static let longChangeStepCountMax = 256
    /// How long a tombstone is kept, unless the store is opened with another time, in milliseconds.
    public static let tombstoneRetentionMillisecondsDefault: Int64 = 30 * 86_400_000
    /// Watchers at once, unless the store is opened with another limit.
    public static let watcherCountMaxDefault = 4_096
    /// Watchers of one owner at once, unless the store is opened with another limit.
    public static let watcherCountPerOwnerMaxDefault = 64
    /// Watchers of one peer at once, unless the store is opened with another limit: three quarters
    /// of all, so that no peer takes every place from the others.
    public static func watcherCountPerPeerMaxDefault(of watcherCountMax: Int) -> Int {
        watcherCountMax - watcherCountMax / 4
    }
    /// The latest expiry: 9999-12-31T23:59:59.999Z, the last moment RFC 3339 can write.
    public static let expiryMillisecondsMax: Int64 = 253_402_300_799_999

    /// Bytes of a payload, unless the store is opened with another limit.
    public static let payloadByteCountMaxDefault = 64 << 20
    /// Bytes of a payload in any store: a blob has a million chunks then.
    public static let payloadByteCountMax = 1 << 36

    /// What an entry takes in its page besides key and value: LMDB's pointer and head of a node, and the byte that makes
    /// it even.
    static let entryOverheadByteCount = 2 + 8 + 1
    /// Stored bytes in a chunk. With what is in front of them, and LMDB's page header, those of a
    /// full chunk fill 16 pages.
    public static let chunkByteCountMax = 65_472
    /// Puts and deletes in one transaction, about.
    public static let transactionPutCountMax = 4_096
    /// Expired notifications that are not swept yet, of which a read by digest looks at so many.
    public static let dueEntryCountMax = 4_096
    /// Damaged notifications that one sweep steps over.
    static let damagedCountMax = 1_024
    /// Bytes put in one transaction, about.
    public static let transactionByteCountMax = 64 << 20
    /// A blob with more stored bytes than this is written ahead, in several transactions.
    public static let stagedByteCountMin = 16 << 20
    /// Of several blobs that are, together, only those with more stored bytes than this.
    static let stagedPartByteCountMin = 1 << 20
    /// Chunks of a blob that may be evicted: 256 MiB. Longer ones stay here.
    package static let evictableChunkCountMax = 4_096
    /// Stored bytes that one such transaction writes.
    static let stagedBatchByteCount = 8 << 20

    /// Bytes a ``PayloadWriter`` keeps in memory; what is longer goes to an unlinked file in the
    /// store's folder.
    public static let payloadInMemoryByteCountMax = 128 << 10

    /// Bytes as given from one place of a compressed payload to the next at which inflating may
    /// begin: what a range costs at the most.
    public static let restartIntervalByteCount = 1 << 20

    /// Compressed bytes are kept only where they are at most this share of the bytes as given.
    static let compressedPercentMax = 90
    /// Shorter payloads are not compressed: the container alone takes 18 bytes.
    static let compressedByteCountMin = 128
    /// A payload that comes in a gzip coding is stored as it came only up to so many bytes inside:
    /// it has no restart points, so a range of it is inflated from the start.
    static let storedAsSentByteCountMax = restartIntervalByteCount
    /// The most bytes of a gzip coding, for payloads of at most `byteCountMax` bytes. Bytes that do
    /// not shrink take 5 bytes more for each 16 KiB, and the container a few.
    public static func codedByteCountMax(for byteCountMax: Int) -> Int {
        byteCountMax + byteCountMax / 1_024 + 4_096
    }

    /// Bytes the store's map may cover, unless it is opened with another limit.
    public static let mapByteCountDefault = 256 << 30
    /// Views open at once, in all processes together, unless the store is opened with another
    /// limit.
    public static let readerCountMaxDefault = 1_000
    /// The least and the most a store may be opened with.
    package static let mapByteCountRange = 4 << 20...1 << 46
    static let readerCountRange = 1...1 << 16
    /// How long after a run has ended its peers may still read pages of `data.mdb` that it sent
    /// them, in milliseconds of the boot clock.
    public static let zeroCopyGraceMilliseconds: Int64 = 60_000
    /// Free pages stay allocated up to this part of the pages in use, at least
    /// ``freeAllocatedByteCountMin`` bytes: more are given back to the file system, until half of it is
    /// left.
    public static let freeAllocatedPart = 24
    /// The least that may stay allocated for free pages, in bytes.
    public static let freeAllocatedByteCountMin = 2 << 20
    /// Changes also free something when the orphans' stored bytes are at least this
    /// many, and at least this part of all live ones: many together touch fewer pages each.
    static let freedWithChangesByteCountMin = 512 << 10
    static let freedWithChangesPart: UInt64 = 32
    /// Orphans that changes look at, to free some of them.
    static let freedWithChangesCountMax = 512
    /// Orphans that one step frees, at the most: each takes at least two deletes of its transaction.
    public static let freedTogetherCountMax = transactionPutCountMax / 2
    /// Orphans that freeing by itself looks at in one step.
    static let freedCountMax = 32_768
    /// Bytes of the log (`changes.log`), which are written once when it is made.
    public static let logByteCount = 2 * logAreaByteCount
    /// Bytes of each of its two areas: one has what is being committed, the other what follows.
    static let logAreaByteCount = 16 << 20
    /// A batch with more stored bytes than this is committed, and not logged, where its payloads have more than
    /// ``loggedPayloadByteCountMax`` on average: they would be written twice, while a commit has few pages besides.
    public static let loggedBatchByteCountMax = 256 << 10
    /// Stored bytes of a payload, on average: see ``loggedBatchByteCountMax``.
    public static let loggedPayloadByteCountMax = 64 << 10
    /// Bytes of the puts and deletes of a batch that is logged.
    static let logRecordByteCountMax = 4 << 20
    /// Bytes in memory of what is pending, and of what was refused or failed meanwhile. With more, nothing is published
    /// before a commit.
    static let memtableByteCountMax = 64 << 20
    /// Bytes by which what is in the log may make `data.mdb` longer before it is committed. Room for them is had ahead.
    static let pendingGrowthByteCountMax = 32 << 20
    /// Bytes of the pages that its commit may copy besides that. The more publishes share a commit, the fewer pages
    /// each of them copies; LMDB keeps the memory of so many until the store is closed.
    static let pendingCopiesByteCountMax = 24 << 20
    /// How long a process that reads waits for another one to commit what it has acknowledged, in
    /// milliseconds.
    public static let commitIntervalMillisecondsMax = 5_000
    /// Leaf pages that are read when a store is opened for writing; of one with more, only the
    /// branches above them are: 64 MiB of pages of 4 KiB.
    static let leafPagesReadAtStartMax: UInt64 = 16_384
    /// Pages of a store whose structure is checked before each round of reading it again: 256 MiB of
    /// pages of 4 KiB.
    static let pagesScrubbedMax = 65_536
    /// The highest number that is believed where numbers are counted up, so that none overflows.
    static let counterMax: UInt64 = 1 << 62
    static let categoryEntryByteCountMax = recordByteCountMax
    /// Room in `data.mdb` kept back for deletes and expiry when the disk is full.
    static let reserveByteCount = 1 << 20
}

/// The most bytes that a part may have, besides the store's own limit.
public struct PartLimit: Sendable, Hashable {
    /// Bytes as given.
    public var byteCountMax: Int
    /// Whose limit that is, for who is refused.
    public var name: String

    /// A limit.
    public init(byteCountMax: Int, name: String) {
        self.byteCountMax = byteCountMax
        self.name = name
    }

    /// Throws ``StoreError/attachmentTooLarge(byteCount:part:mediaType:limit:)`` for more.
    func check(byteCount: Int, part: String, mediaType: String) throws(StoreError) {
        guard byteCount > byteCountMax else { return }
        throw .attachmentTooLarge(
            byteCount: byteCount, part: part, mediaType: mediaType, limit: self)
    }
}

/// A limit of watchers. The raw value is its name: the daemon's flag is the same with two dashes.
public enum WatcherLimit: String, Sendable, Hashable {
    /// Of all together.
    case total = "max-watchers"
    case owner = "max-watchers-per-owner"
    case peer = "max-watchers-per-peer"

    var words: String {
        switch self {
        case .total: "watcher limit"
        case .owner: "watcher limit per owner"
        case .peer: "watcher limit per peer"
        }
    }
}
