internal import Bytes
internal import LMDB

/// Builds a store from a backup, in a folder that has none.
///
/// It is another store, with an id of its own. Its revisions and the ids that it assigns come after all that were given
/// after the backup: what devices and caches remember of the time between is never taken for something of it.
struct Restoration {
    private let environment: Environment
    private let tables: Tables
    private let now: Timestamp
    private let identity: Identity
    private var oldFormat: FormatRecord?
    private var predecessors = Predecessors()

    enum Identity {
        /// Another one, whose feeds start again.
        case new
        /// The store itself, whose file is rewritten.
        case same
        /// The store itself, as a follower that has applied the log up to a position.
        case follower(ReplicationState)
    }

    /// How many of the blobs have their bytes in the bucket, as the states say.
    private var evictionCount = EvictionCount()
    private var damaged: Set<UInt64> = []
    /// Blobs whose bytes the backup does not have.
    private var longBlobs: [BlobReference] = []

    private init(
        in directory: String, options: StoreOptions, asOf now: Timestamp, _ identity: Identity
    ) throws(StoreError) {
        self.now = now
        self.identity = identity
        do throws(LMDBError) {
            environment = try Creation.environment(in: directory, options)
            var transaction = try environment.beginWrite()
            tables = try Tables(creatingIn: &transaction)
            try transaction.commit()
        } catch {
            throw Creation.failure(error)
        }
    }

    /// Builds the store, and closes it.
    static func run(
        in directory: String, _ options: StoreOptions, asOf now: Timestamp, _ identity: Identity,
        _ reader: inout BackupReader, from source: BackupReader.Source, blobs: LongBlobSource,
        progress: (_ byteCount: Int) -> Void
    ) throws {
        var restoration = try Restoration(in: directory, options: options, asOf: now, identity)
        try restoration.copy(&reader, from: source, progress: progress)
        var evicted: [BlobReference] = []
        try blobs(restoration.longBlobs) { blob, content in
            let isDamaged = restoration.damaged.contains(blob.number)
            switch content {
            case .bytes(let bytes): try restoration.put(blob, bytes)
            // One that the base calls damaged is asked for in vain, or is mended then.
            case .evicted: if !isDamaged { evicted.append(blob) }
            case .missing:
                guard isDamaged else {
                    throw StoreError.corrupt("the bucket lacks the bytes of \(blob.digest)")
                }
            }
        }
        try restoration.putEvicted(evicted)
    }

    /// Copies the backup. Each transaction puts about ``StoreLimits/transactionByteCountMax`` bytes.
    private mutating func copy(
        _ reader: inout BackupReader, from source: BackupReader.Source,
        progress: (_ byteCount: Int) -> Void
    ) throws {
        var block = try reader.nextBlock(from: source)
        while block != nil {
            var transaction = try begin()
            var byteCount = 0
            while let some = block, byteCount < StoreLimits.transactionByteCountMax {
                try some.forEachEntry { key, value in
                    try put(key, value, of: some.table, in: &transaction)
                }
                byteCount += some.bytes.count
                block = try reader.nextBlock(from: source)
                progress(reader.byteCount)
            }
            if block == nil {
                switch identity {
                case .new: try putIdentity(of: reader.head, in: &transaction)
                case .same: break
                case .follower(let state): try set(state, in: &transaction)
                }
            }
            try commit(transaction)
        }
    }

    /// Stores the chunks of a long blob. Each transaction puts about ``StoreLimits/transactionByteCountMax``
    /// bytes. `bytes`: as stored.
    private mutating func put(_ blob: BlobReference, _ bytes: [UInt8]) throws {
        let step = StoreLimits.transactionByteCountMax / StoreLimits.chunkByteCountMax
        for start in stride(from: 0, to: blob.chunkCount, by: step) {
            var transaction = try begin()
            for index in start..<min(start + step, blob.chunkCount) {
                try transaction.putChunk(of: blob, at: index, bytes, in: tables.chunks)
            }
            if start + step >= blob.chunkCount, damaged.remove(blob.number) != nil {
                let key = Keys.state(blob.number, .damaged)
                try transaction.remove(key.span.bytes, in: tables.orphans)
            }
            try commit(transaction)
        }
    }

    /// Notes of blobs that their bytes stay in the bucket, and counts all of which that is said.
    private func putEvicted(_ blobs: [BlobReference]) throws {
        var count = evictionCount
        var rest = blobs[...]
        repeat {
            var transaction = try begin()
            for blob in rest.prefix(StoreLimits.transactionPutCountMax) {
                let key = Keys.state(blob.number, .inBucket)
                let entry = BlobStateEntry(inBucket: blob.storedByteCount)
                let value = entry.words(number: blob.number)
                try transaction.set(key.span.bytes, to: value.span.bytes, in: tables.orphans)
                count.add(entry)
            }
            rest = rest.dropFirst(StoreLimits.transactionPutCountMax)
            if count.blobs > 0 { try set(count, in: &transaction) }
            try commit(transaction)
        } while !rest.isEmpty
    }

    private func begin() throws(StoreError) -> WriteTransaction {
        try Creation.converting { () throws(LMDBError) in try environment.beginWrite() }
    }

    private func commit(_ transaction: consuming WriteTransaction) throws(StoreError) {
        do throws(LMDBError) { try transaction.commit() } catch { throw Creation.failure(error) }
    }

    /// Puts an entry after all others of its table.
    private mutating func put(
        _ key: RawSpan, _ value: RawSpan, of table: BackupTable,
        in transaction: inout WriteTransaction
    ) throws {
        if case .meta = table, case .new = identity {
            return try putMeta(key, value, in: &transaction)
        }
        if case .follower = identity {
            let blob = try table.check(key, value)
            if let blob, !blob.isShippedWithBatch { longBlobs.append(blob) }
        }
        if case .states = table, let key = Keys.state(key) {
            switch key.queue {
            case .toBeFreed: break
            case .inBucket: evictionCount.add(try BlobStateEntry(value, number: key.number))
            case .damaged: damaged.insert(key.number)
            }
        }
        try Creation.converting { () throws(LMDBError) in
            try transaction.put(value, RawSpan(), forKey: key, in: table.table(of: tables))
        }
    }

    /// What is said of the store itself, as it is of the new one.
    private mutating func putMeta(
        _ key: RawSpan, _ value: RawSpan, in transaction: inout WriteTransaction
    ) throws {
        switch key.text() {
        case Counters.name:
            var counters = try Counters(value)
            try counters.skip(.random(in: StoreLimits.restoredGaps))
            try set(counters, in: &transaction)
        case FormatRecord.name:
            guard let format = try? FormatRecord(value) else {
                throw BackupError("has no valid format")
            }
            oldFormat = format
        case Predecessors.name: predecessors = try Predecessors(value)
        case let name: throw BackupError("has an unknown entry \"\(name)\"")
        }
    }

    private func putIdentity(
        of head: BackupHead, in transaction: inout WriteTransaction
    ) throws {
        guard let oldFormat, oldFormat.storeID == head.storeID,
            oldFormat.version == head.formatVersion
        else { throw BackupError("is of another store than its head says") }
        // What the version does not have yet is added when the store is opened.
        var format = FormatRecord(storeID: .random(), createdAt: now)
        format.version = oldFormat.version
        try set(format, in: &transaction)
        try set(predecessors.adding(oldFormat.storeID), in: &transaction)
    }

    private func set<Value: MetaValue>(
        _ value: Value, in transaction: inout WriteTransaction
    ) throws(StoreError) {
        try transaction.set(
            Value.name.utf8.span.bytes, to: value.value.span.bytes, in: tables.meta)
    }
}
