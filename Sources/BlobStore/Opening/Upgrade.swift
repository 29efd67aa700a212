internal import LMDB

/// How far the upgrade of a store of an older format is.
public struct UpgradeProgress: Sendable, Hashable {
    /// The format version it had.
    public var version: Int
    /// Notifications that were looked at by this opening.
    public var notifications: Int
    /// Whether the store is now of this program's format.
    public var isDone: Bool
}

/// Brings a store of an older format to this program's.
///
/// From versions 2 and 3 one transaction is enough: blobs that are stored from then on have numbers
/// that say how they are cut, and programs that know of no log stay away.
///
/// From version 1 the places of what each owner has come into the index besides, in bounded
/// transactions, each of which leaves a store that this program reads: the first makes it one that
/// no older program opens, and a mark says up to which id the others have come. An opening that
/// finds the mark goes on behind it. Records stay as they are: one without a sequence came to its
/// owner with its own revision.
struct Upgrade {
    let store: BlobStore
    let format: FormatRecord

    private static let firstVersionWithPlaces: UInt32 = 2

    /// What one transaction may add to the file: an entry may copy a page of its own, and those
    /// above it.
    private static let growthByteCountMax = 16 << 20

    init(_ store: BlobStore, _ format: FormatRecord) {
        self.store = store
        self.format = format
    }

    /// Whether the places of what owners have are not all in the index: there are no feeds.
    static func lacksPlaces(
        _ format: FormatRecord, _ environment: Environment, _ tables: Tables
    ) throws(LMDBError) -> Bool {
        if format.version < firstVersionWithPlaces { return true }
        let transaction = try environment.readers.begin()
        let name = Array(UpgradeMark.name.utf8)
        return try transaction.view.value(forKey: name.span.bytes, in: tables.meta) != nil
    }

    /// All that is left of it. Takes about a second for 100,000 notifications.
    ///
    /// - Throws: ``StoreError/full``; ``StoreError/outcomeUnknown(_:)``; ``StoreError/corrupt(_:)``
    ///   when the tables cannot be walked. The next opening goes on.
    func run(asOf now: Timestamp) throws(StoreError) {
        var progress = UpgradeProgress(
            version: Int(format.version), notifications: 0, isDone: false)
        store.options.onUpgrade?(progress)
        if format.version < FormatRecord.version {
            try begin(asOf: now)
            store.options.onUpgrade?(progress)
        }
        while !progress.isDone {
            let (count, isDone) = try step(asOf: now)
            progress.notifications += count
            progress.isDone = isDone
            store.options.onUpgrade?(progress)
        }
    }

    /// From this commit on no older program opens the store. The counters get their new form, in
    /// which version 1 did not have them, with every commit.
    func begin(asOf now: Timestamp) throws(StoreError) {
        let value = FormatRecord(storeID: format.storeID, createdAt: format.createdAt).bytes
        try inTransaction(asOf: now) { (transaction) throws(StoreError) in
            try transaction.setMeta(FormatRecord.name, to: value)
            if format.version < Self.firstVersionWithPlaces {
                try transaction.setMeta(UpgradeMark.name, to: UpgradeMark().bytes)
            }
            transaction.counters.nextBlobNumber = max(
                transaction.counters.nextBlobNumber, ChunkLayout.firstShortFirstNumber)
        }
    }

    /// One transaction.
    ///
    /// - Returns: how many notifications it has looked at, and whether they were the last.
    func step(asOf now: Timestamp) throws(StoreError) -> (count: Int, isDone: Bool) {
        let limit = store.options.upgradeStepCountMax
        return try inTransaction(asOf: now) { (transaction) throws(StoreError) in
            guard let mark = try transaction.upgradeMark() else { return (0, true) }
            let found = try transaction.arrivals(behind: mark.lastID, limit: limit)
            for (key, entry) in found.arrivals {
                let value = entry.bytes(key: key)
                _ = try transaction.transaction.insert(
                    key.span.bytes, value.span.bytes, in: transaction.tables.index)
            }
            if let lastID = found.lastID {
                try transaction.setMeta(UpgradeMark.name, to: UpgradeMark(lastID: lastID).bytes)
            } else {
                try transaction.removeMeta(UpgradeMark.name)
            }
            return (found.count, found.lastID == nil)
        }
    }

    private func inTransaction<Result>(
        asOf now: Timestamp,
        _ body: (inout ChangeTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        return try store.whileWriting { () throws(StoreError) in
            try store.inTransaction(
                growth: Self.growthByteCountMax, asOf: now, isPublishing: true, body)
        }
    }
}

extension ChangeTransaction {
    fileprivate mutating func removeMeta(_ name: String) throws(StoreError) {
        try transaction.remove(name.utf8.span.bytes, in: tables.meta)
    }

    fileprivate borrowing func upgradeMark() throws(StoreError) -> UpgradeMark? {
        let name = Array(UpgradeMark.name.utf8)
        guard let value = try transaction.get(name.span.bytes, in: tables.meta) else { return nil }
        return try UpgradeMark(value)
    }

    /// The entries of notifications behind `lastID` that have owners, and up to which id they were
    /// looked at; nil: up to the last. Damaged records are stepped over: `verify` names them.
    fileprivate borrowing func arrivals(
        behind lastID: [UInt8], limit: Int
    ) throws(StoreError) -> (arrivals: [([UInt8], SequenceEntry)], count: Int, lastID: [UInt8]?) {
        var arrivals: [([UInt8], SequenceEntry)] = []
        var cursor = try transaction.cursor(in: tables.notifications)
        let last = lastID.span.bytes
        var isThere = last.isEmpty ? try cursor.first() : try cursor.seek(last)
        if isThere, cursor.key.isEqual(to: last) { isThere = try cursor.next() }
        var count = 0
        var reached: [UInt8]?
        while isThere, count < limit {
            count += 1
            reached = cursor.key.array
            if let record = try cursor.readableRecord(), let owner = record.owner {
                arrivals.append(
                    (
                        IndexKeys.sequence(owner, record.revision),
                        SequenceEntry([.history, .feed], id: record.id)
                    ))
            }
            isThere = try cursor.next()
        }
        return (arrivals, count, isThere ? reached : nil)
    }
}

extension Cursor {
    /// The record the cursor stands at; nil when it is damaged.
    fileprivate borrowing func readableRecord() throws(StoreError) -> Record? {
        do throws(StoreError) {
            return try record()
        } catch {
            guard case .corrupt = error else { throw error }
            return nil
        }
    }
}
