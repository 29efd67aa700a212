internal import Bytes
internal import Glibc
internal import LMDB
internal import Synchronization

extension BlobStore {
    /// Opens the store in `directory` for reading and writing, creating both when they are not there. A second
    /// process is refused. A store that is damaged, of another format version, or not one at all is refused
    /// untouched. What is only in the log is committed; a log that is missing, cut short or another's is refused
    /// where changes were pending in it (``StoreOptions/discardsLog``), and so is a log without a store. In a store of
    /// format version 1 what each owner has is counted, once. With ``StoreOptions/usesWriteAheadLog`` a log is begun, and the thread that commits it.
    ///
    /// - Throws: ``StoreError/cannotOpen(path:reason:)``, ``StoreError/damaged(path:reason:)``, or ``StoreError/full``.
    public static func open(
        at directory: String, options: Options = Options()
    ) throws(StoreError) -> BlobStore {
        try options.check(directory)
        return try opening.locking { () throws(StoreError) in
            try makeDirectory(directory)
            try refuseSecondOpening(directory)
            return try openLocked(directory, options)
        }
    }

    private static func openLocked(
        _ directory: String, _ options: Options
    ) throws(StoreError) -> BlobStore {
        let lock = try DirectoryLock(directory)
        Creation.removeLeftovers(in: directory)
        if !DataFile.exists("\(directory)/\(DataFile.name)") {
            try requireNoLog(directory, options)
            try Creation.createStore(in: directory, options: options, asOf: currentTime())
        }
        _ = try DataFile(in: directory)
        if let beforeMapping = options.beforeMapping { try beforeMapping(directory) }
        try PageCheck.beforeWriting(directory)
        let store = try open(directory, options, isReadOnly: false, lock: lock)
        try store.pipeline.recoverLog()
        try store.upgrade()
        try store.loadReplication()
        try store.loadCategoryEdits()
        try store.refuseUnreplicatedUse()
        try store.loadQuarantine()
        try store.loadGivenWay()
        // Only now: who reads meanwhile waits for what an earlier writer acknowledged.
        store.pendingCounts.clear()
        try store.beginLoggingAsWanted()
        return store
    }

    /// A log without its store may have acknowledged changes, and a new store would begin it anew.
    private static func requireNoLog(_ directory: String, _ options: Options) throws(StoreError) {
        guard DataFile.exists("\(directory)/\(WriteAheadLog.fileName)"), !options.discardsLog
        else { return }
        throw .cannotOpen(
            path: directory,
            reason:
                "it has \(WriteAheadLog.fileName), but no \(DataFile.name): acknowledged changes may be missing. Put \(DataFile.name) back; or move the log away and restore a backup; or begin an empty store: blobd serve --discard-log (BlobStore.Options.discardsLog)"
        )
    }

    /// Opens the store in `directory` for reading, alongside a daemon or alone. It has all that a daemon acknowledged
    /// before; what is acknowledged later is seen within a second. It may be on a read-only mount, and the writer in
    /// another container: a snapshot is known by a lock on `data.mdb`, which costs about a microsecond.
    ///
    /// A process has a store open once, for writing or for reading: share that one, which all threads may read.
    ///
    /// - Throws: ``StoreError/cannotOpen(path:reason:)``, also where this process has the store open already;
    ///   ``StoreError/damaged(path:reason:)``.
    public static func openReadOnly(
        at directory: String, options: Options = Options()
    ) throws(StoreError) -> BlobStore {
        try options.check(directory)
        return try opening.locking { () throws(StoreError) in
            try refuseSecondOpening(directory)
            return try openUnlocked(directory, options)
        }
    }

    private static func openUnlocked(
        _ directory: String, _ options: Options
    ) throws(StoreError) -> BlobStore {
        // As large as the writer's map, which the file may fill later.
        var options = options
        let mapped = try DataFile(in: directory).mapByteCount
        if StoreLimits.mapByteCountRange.contains(mapped) {
            options.mapByteCountMax = max(options.mapByteCountMax, mapped)
        }
        let store = try open(directory, options, isReadOnly: true, lock: nil)
        if !options.ignoresLog {
            try store.log.requireLog()
            try store.log.requireCommitted()
        }
        return store
    }

    /// One store is opened at a time in a process, so that nobody opens the same one between the
    /// look at it and the opening.
    private static let opening = Mutex<Void>(())

    /// Before any of its files is touched.
    private static func refuseSecondOpening(_ directory: String) throws(StoreError) {
        guard !Environment.isOpen(directory) else {
            throw .cannotOpen(path: directory, reason: "this process has already opened it")
        }
    }

    static func open(
        _ directory: String, _ options: Options, isReadOnly: Bool, lock: DirectoryLock?
    ) throws(StoreError) -> BlobStore {
        let environment: Environment
        do throws(LMDBError) {
            environment = try Creation.environment(in: directory, options, isReadOnly: isReadOnly)
        } catch {
            guard !error.isCorruption else {
                throw .damaged(path: directory, reason: error.description)
            }
            let reason =
                switch error.systemError {
                case EBUSY: "this process has already opened it"
                case ENOMEM: "\(error), for \(AddressSpace.advice(options.mapByteCountMax))"
                default: error.description
                }
            throw .cannotOpen(path: directory, reason: reason)
        }
        // The format first: another version may have other tables.
        let format = try format(of: environment, directory)
        let tables: Tables
        do throws(LMDBError) {
            tables = try Tables(opening: environment)
        } catch {
            throw .damaged(
                path: directory,
                reason: "a table of \(DataFile.name) is missing: \(error.description)")
        }
        return try BlobStore(
            environment, tables: tables, format: format,
            predecessors: try predecessors(in: environment, tables.meta, directory),
            directory: directory, options: options, lock: lock,
            pendingCounts: try PendingCounts(directory, isWriter: !isReadOnly))
    }

    private static func predecessors(
        in environment: Environment, _ meta: Table, _ directory: String
    ) throws(StoreError) -> Predecessors {
        func refuse(_ reason: String) -> StoreError {
            .damaged(path: directory, reason: reason)
        }
        guard let value = try metaValue(Predecessors.name, in: environment, meta, refuse) else {
            return Predecessors()
        }
        guard let found = try? Predecessors(value.span.bytes) else {
            throw refuse("the entry \"\(Predecessors.name)\" of \(DataFile.name) is damaged")
        }
        return found
    }

    private static func metaValue(
        _ name: String, in environment: Environment, _ meta: Table,
        _ refuse: (String) -> StoreError
    ) throws(StoreError) -> [UInt8]? {
        do throws(LMDBError) {
            let transaction = try environment.beginRead()
            let key = Array(name.utf8)
            return try transaction.view.value(forKey: key.span.bytes, in: meta)?.array()
        } catch {
            throw refuse(error.description)
        }
    }

    /// The format record, once it is clear that this program can work with what follows it.
    private static func format(
        of environment: Environment, _ directory: String
    ) throws(StoreError) -> FormatRecord {
        func refuse(_ reason: String) -> StoreError {
            .damaged(path: directory, reason: "\(DataFile.name) \(reason)")
        }
        let meta: Table
        do throws(LMDBError) {
            meta = try Tables.openMeta(environment)
        } catch {
            guard error.isNotFound else { throw refuse(error.description) }
            throw refuse("is another program's LMDB file: it has no table \"meta\"")
        }
        guard let value = try metaValue(FormatRecord.name, in: environment, meta, refuse),
            let format = try? FormatRecord(value.span.bytes)
        else { throw refuse("has no valid format record") }
        guard FormatRecord.versions.contains(format.version) else {
            throw .cannotOpen(
                path: directory,
                reason:
                    "\(DataFile.name) has format version \(format.version), but this program opens only versions \(FormatRecord.versions.lowerBound) to \(FormatRecord.versions.upperBound); use the program that created it, or start with an empty directory"
            )
        }
        return format
    }

    static func makeDirectory(_ path: String) throws(StoreError) {
        if mkdir(path, 0o750) == 0 {
            try Creation.syncDirectory(parent(of: path))
            return
        }
        guard errno == EEXIST else {
            throw .cannotOpen(path: path, reason: "mkdir: \(systemMessage(errno))")
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw .cannotOpen(path: path, reason: "it is not a directory")
        }
    }

    private static func parent(of path: String) -> String {
        var parts = path.split(separator: "/", omittingEmptySubsequences: true)
        if !parts.isEmpty { parts.removeLast() }
        let joined = parts.joined(separator: "/")
        return path.hasPrefix("/") ? "/" + joined : (joined.isEmpty ? "." : joined)
    }

    /// Only for the date a new store bears; nothing the store decides depends on it.
    private static func currentTime() -> Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Timestamp(milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
    }
}

extension BlobStore {
    /// Counts what each owner has in a store of format version 1, which is one of version 2 then, in one
    /// transaction. Keeps about 100 bytes an owner in memory meanwhile.
    func upgrade() throws(StoreError) {
        let usages = try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.format().countsOwners ? nil : try snapshot.countedUsages()
        }
        guard let usages else { return }
        let growth = try core.snapshot().growth(of: usages.count)
        try pipeline.change(growth: growth, isPublishing: true) {
            (transaction) throws(StoreError) in
            for (owner, usage) in usages {
                try transaction.put(
                    usage, at: IndexKeys.usage(String(decoding: owner, as: UTF8.self)))
            }
            try transaction.requireFormat(FormatRecord.version)
        }
    }
}

extension Snapshot {
    /// What each owner has, as the records say, in the order of their keys.
    fileprivate borrowing func countedUsages() throws(StoreError) -> [([UInt8], OwnerUsage)] {
        // By bytes: as texts, two owners may be the same.
        var usages: [[UInt8]: OwnerUsage] = [:]
        try walk(tables.notifications) { (cursor) throws(StoreError) in
            // One that is damaged does not count; `verify` names it.
            if let record = try? cursor.record(), let owner = record.owner {
                usages[Array(owner.utf8), default: OwnerUsage()].add(record.byteCount)
            }
            return true
        }
        return usages.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            .map { ($0.key, $0.value) }
    }

    /// Bytes of pages that are copied and added: at most two for each owner, and twice all that there are.
    fileprivate borrowing func growth(of ownerCount: Int) throws(StoreError) -> Int {
        let pageByteCount = store.environment.pageByteCount
        do throws(LMDBError) {
            let pageCount = try transaction.pageCount(of: [store.tables.index])
            return (min(2 * ownerCount, 2 * pageCount) + 16) * pageByteCount + ownerCount * 384
        } catch {
            throw StoreError(error)
        }
    }
}
