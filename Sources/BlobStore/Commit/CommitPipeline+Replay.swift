internal import Bytes
internal import Glibc
internal import LMDB
internal import Synchronization

extension CommitPipeline {
    /// Replays what the log has, in place of a transaction in which something failed.
    func replay(insteadOf transaction: consuming ChangeTransaction) throws(StoreError) {
        let owners = transaction.touchedOwners
        // LMDB has one transaction at a time.
        _ = consume transaction
        try replay(notifying: owners)
    }

    func replay(notifying owners: [String]) throws(StoreError) {
        guard open.isPending else {
            open.growth = OpenGrowth()
            return
        }
        do throws(StoreError) {
            try replayLog()
        } catch {
            throw .outcomeUnknown(
                "acknowledged changes are in \(WriteAheadLog.fileName) and not committed: \(error)"
            )
        }
        let counters = try core.snapshot().counters()
        feedWatch.notify(owners, at: counters.revision)
    }

    /// Replays and commits what the log has, instead of a transaction in which a later batch failed.
    func replayLog() throws(StoreError) {
        guard let log = open.log else { return }
        try inlineOverflowValues()
        let transaction = try beginReplay()
        let records = try log.records(of: transaction.id)
        guard records.count >= log.recordCount else {
            throw .corrupt(
                "the write-ahead log has \(records.count) of \(log.recordCount) written records"
            )
        }
        guard !records.isEmpty else { return }
        try replay(records, transaction, of: log.id, isInUse: true)
        noteAllCommitted()
    }

    /// Puts the values into the log that it refers to.
    func inlineOverflowValues() throws(StoreError) {
        guard open.overflowByteCount > 0, let log = open.log else { return }
        do throws(StoreError) {
            try inlineOverflow(try log.records(of: lastTransaction() + 1), in: log)
            open.overflowByteCount = 0
        } catch {
            throw .outcomeUnknown("\(log.path) cannot be made whole: \(error)")
        }
    }

    /// Makes records whole, in the file and as they are returned.
    @discardableResult
    private func inlineOverflow(
        _ records: [[UInt8]], in log: WriteAheadLog
    ) throws(StoreError) -> [[UInt8]] {
        let isNeeded = records.contains { record in
            LogRecord(record.span.bytes, byteCountMax: record.count)?.hasOverflow == true
        }
        guard isNeeded else { return records }
        let inliner = OverflowInliner(core: core)
        var whole: [[UInt8]] = []
        for record in records { whole.append(try inliner.inlined(record.span.bytes)) }
        try log.replaceRecords(by: whole)
        return whole
    }

    /// Replays what the log has when the store is opened, and commits that no log is in use.
    func recoverLog() throws(StoreError) {
        // What a crash has left of one that was being made whole.
        unlink("\(core.directory)/\(WriteAheadLog.fileName).new")
        let mark = pending.mark
        let last = try lastTransaction()
        do throws(StoreError) {
            guard let state = try logReader.stateNow().state, state.isInUse else { return }
            let contents = try WriteAheadLog.contents(in: core.directory, state, after: last, mark)
            if contents.records.isEmpty {
                // Where there is no room for it, the log stays in use, and as it is.
                try ignoringFull { () throws(StoreError) in try noteLogEnded() }
            } else {
                guard let log = try WriteAheadLog(core.directory, of: state.id, .writing) else {
                    throw .corrupt("\(core.directory)/\(WriteAheadLog.fileName) is missing")
                }
                let records = try inlineOverflow(contents.records, in: log)
                try replay(records, try beginReplay(), of: state.id, isInUse: false)
                core.options.onLogNotice?(.replayed(changes: contents.changeCount))
            }
            if contents.isLastDropped { core.options.onLogNotice?(.lastRecordDropped) }
        } catch {
            guard case .corrupt(let reason) = error else { throw error }
            guard core.options.discardsLog else {
                throw .cannotOpen(path: core.directory, reason: logReader.lostChanges(reason, last))
            }
            core.options.onLogNotice?(.discarded(reason: reason))
            try ignoringFull { () throws(StoreError) in
                _ = try setLogState(.random(), isInUse: false) { (transaction) throws(StoreError) in
                    // Ids that were assigned in it are in links.
                    try transaction.counters.skipIDs(.random(in: StoreLimits.restoredGaps))
                }
            }
        }
    }

    private func lastTransaction() throws(StoreError) -> UInt64 {
        try core.snapshot().transaction.id
    }

    private func ignoringFull(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try body()
        } catch {
            guard case .full = error else { throw error }
        }
    }

    private func replay(
        _ records: [[UInt8]], _ begun: consuming WriteTransaction, of id: Nonce, isInUse: Bool
    ) throws(StoreError) {
        var transaction = begun
        let number = transaction.id
        for record in records { try transaction.replay(record.span.bytes, core.tables) }
        let growth = records.reduce(0) { $0 + $1.count }
        do throws(LMDBError) {
            let state = LogState(id: id, isInUse: isInUse, firstTransaction: number)
            try transaction.put(state, in: core.tables.meta)
            try transaction.commit()
        } catch {
            throw failure(of: error, growth: growth)
        }
        core.lastCommit.store(number, ordering: .releasing)
        core.memtables.retire()
        space.coverLastPage()
    }

    private func beginReplay() throws(StoreError) -> WriteTransaction {
        try StoreError.converting { () throws(LMDBError) in try core.environment.beginWrite() }
    }
}

extension WriteTransaction {
    mutating func put(_ state: LogState, in meta: Table) throws(LMDBError) {
        try put(state.value.span.bytes, forKey: LogState.name.utf8.span.bytes, in: meta)
    }

    fileprivate mutating func replay(_ record: RawSpan, _ tables: Tables) throws(StoreError) {
        let all = tables.all
        var reader = OperationReader(record.extracting(droppingFirst: LogRecord.byteCount))
        while let operation = reader.next() {
            guard let table = all.first(where: { $0.number == operation.table }) else {
                throw .corrupt(
                    "a record of the write-ahead log has the unknown table \(operation.table)")
            }
            try redo(operation, in: table)
        }
        guard reader.isAtEnd else {
            throw .corrupt("a record of the write-ahead log ends inside an operation")
        }
    }
}

/// Puts long values that are in pages of `data.mdb` into the records that refer to them. Replaying a record may
/// write over these pages before it is committed: they are free, as far as `data.mdb` says. So a log is made whole
/// first, and a power cut then finds all of it.
struct OverflowInliner {
    let core: StoreCore

    /// The record with the values in it. One `pread` for each of them.
    func inlined(_ record: RawSpan) throws(StoreError) -> [UInt8] {
        guard var head = LogRecord(record, byteCountMax: record.byteCount) else {
            throw .corrupt("a record of the write-ahead log has no head")
        }
        guard head.hasOverflow else { return record.array() }
        var bytes = [UInt8](repeating: 0, count: LogRecord.byteCount)
        var reader = OperationReader(
            record.extracting(droppingFirst: LogRecord.byteCount), hasOverflow: true)
        while let operation = reader.next() {
            if let place = operation.overflow {
                let value = try value(at: place, operation.key, in: operation.table)
                bytes.append(operation, value.span.bytes)
            } else {
                bytes.append(operation, operation.value)
            }
        }
        guard reader.isAtEnd else {
            throw .corrupt("a record of the write-ahead log ends inside an operation")
        }
        head.hasOverflow = false
        head.operationByteCount = bytes.count - LogRecord.byteCount
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        head.write(into: &target)
        return bytes
    }

    /// One of the values, which is in pages of `data.mdb`. Throws ``StoreError/corrupt(_:)`` where it is not whole.
    func value(
        at place: OverflowLocation, _ key: RawSpan, in table: Int
    ) throws(StoreError) -> [UInt8] {
        let byteCountMax = ChunkLayout.alignedPrefixByteCount + ChunkLayout.byteCountMax
        guard table == Int(core.tables.chunks.number), key.byteCount == ChunkKey.byteCount,
            ChunkLayout.alignedPrefixByteCount...byteCountMax ~= place.byteCount,
            let offset = place.offset(pageByteCount: core.environment.pageByteCount)
        else {
            throw .corrupt("a record of the write-ahead log refers to a value that is not a chunk")
        }
        // Where the file is shorter than it was, the checksum shows it.
        var bytes = [UInt8](repeating: 0, count: place.byteCount)
        guard FileBytes.read(core.environment.dataDescriptor, at: offset, into: &bytes) >= 0 else {
            throw .system("read \(DataFile.name)")
        }
        let value = bytes.span.bytes
        let byteCount = ChunkLayout.byteCount(ofValue: value.byteCount)
        guard Chunk.isWhole(value, key: key, byteCount: byteCount) else {
            let (number, index) = ChunkKey.numbers(key)
            throw .corrupt(
                "chunk \(index) of blob \(number), to which \(WriteAheadLog.fileName) refers, failed its checksum"
            )
        }
        return bytes
    }
}
