internal import Glibc
internal import LMDB

/// Makes a store that is either whole or not there. LMDB syncs neither its first meta pages nor the folder, and a
/// power cut then leaves a file that never opens. So the first commit happens in `store.new/`; both are synced, and
/// one rename puts the file in its place. The next start removes what a cut leaves.
enum Creation {
    static let stagingName = "store.new"

    /// - Parameter state: how it belongs to a shard; nil: to none.
    static func createStore(
        in directory: String, options: StoreOptions, asOf now: Timestamp,
        as state: ReplicationState? = nil
    ) throws(StoreError) {
        let staging = try beginStaging(in: directory, options: options)
        do throws(LMDBError) {
            try writeFormat(in: staging, options: options, asOf: now, as: state)
        } catch {
            removeLeftovers(in: directory)
            throw failure(error)
        }
        try finishStaging(in: directory)
    }

    /// Calls `body` while a store is built.
    static func converting<Result: ~Copyable>(
        _ body: () throws(LMDBError) -> Result
    ) throws(StoreError) -> Result {
        do throws(LMDBError) { return try body() } catch { throw failure(error) }
    }

    /// What LMDB answered while a store is built: a disk without room shows as either of two errors.
    static func failure(_ error: LMDBError) -> StoreError {
        error.systemError == EIO || error.systemError == ENOSPC ? .full : StoreError(error)
    }

    /// Makes the folder in which a store is built. Returns its path.
    static func beginStaging(
        in directory: String, options: StoreOptions
    ) throws(StoreError) -> String {
        let staging = "\(directory)/\(stagingName)"
        removeLeftovers(in: directory)
        guard mkdir(staging, 0o770) == 0 else { throw .system("mkdir \(staging)") }
        if let pageByteCount = options.pageByteCount {
            guard PageFile.makeEmpty("\(staging)/\(DataFile.name)", pageByteCount: pageByteCount)
            else { throw .system("write \(staging)/\(DataFile.name)") }
        } else {
            // liblmdb opens it by another name, and fills it.
            let descriptor = open(
                "\(staging)/\(DataFile.name)", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o660)
            guard descriptor >= 0 else { throw .system("open \(staging)/\(DataFile.name)") }
            close(descriptor)
        }
        return staging
    }

    /// Puts the file of a store that is built in its place. It is synced.
    static func finishStaging(in directory: String) throws(StoreError) {
        let staging = "\(directory)/\(stagingName)"
        // The commit has synced data.mdb itself; what is left is the names.
        try syncDirectory(staging)
        guard rename("\(staging)/\(DataFile.name)", "\(directory)/\(DataFile.name)") == 0 else {
            throw .system("rename \(staging)/\(DataFile.name)")
        }
        try syncDirectory(directory)
        removeLeftovers(in: directory)
    }

    static func environment(
        in directory: String, _ options: StoreOptions, isReadOnly: Bool = false
    ) throws(LMDBError) -> Environment {
        try Environment(
            directory: directory,
            mapByteCount: options.mapByteCountMax, readerCountMax: options.readerCountMax,
            tableCountMax: Tables.countMax, isReadOnly: isReadOnly)
    }

    private static func writeFormat(
        in directory: String, options: StoreOptions, asOf now: Timestamp,
        as state: ReplicationState?
    ) throws(LMDBError) {
        let environment = try environment(in: directory, options)
        var transaction = try environment.beginWrite()
        let tables = try Tables(creatingIn: &transaction)
        var format = FormatRecord(storeID: .random(), createdAt: now)
        if let state {
            format.version = FormatRecord.replicatedVersion
            try transaction.put(
                state.value.span.bytes, forKey: ReplicationState.name.utf8.span.bytes,
                in: tables.meta)
        }
        try transaction.put(
            format.value.span.bytes, forKey: FormatRecord.name.utf8.span.bytes, in: tables.meta)
        try transaction.put(
            Counters().value.span.bytes, forKey: Counters.name.utf8.span.bytes, in: tables.meta)
        try transaction.commit()
    }

    /// Removes what an unfinished creation left. Only names that creation makes are touched.
    static func removeLeftovers(in directory: String) {
        let staging = "\(directory)/\(stagingName)"
        unlink("\(staging)/\(DataFile.name)")
        unlink("\(staging)/\(DataFile.lockName)")
        unlink("\(staging)/\(DataFile.pendingName)")
        Environment.removeLeftovers(in: staging)
        rmdir(staging)
    }

    /// Makes names in a folder survive a power cut (`fsync` of the folder).
    static func syncDirectory(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("open \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system("fsync \(path)") }
    }
}
