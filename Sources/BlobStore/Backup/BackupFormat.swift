internal import Bytes
internal import LMDB

/// The form of a backup (`docs/FORMAT.md`, "Backup"): a head, the entries of the tables in blocks, and
/// an end.
enum BackupFormat {
    static let magic = Array("blobdbak".utf8)
    /// The only version this program writes and reads.
    static let version: UInt32 = 1
    static let blockHeadByteCount = 8
    /// A body with so many bytes takes no further entry.
    static let bodyByteCountMin = 1 << 20
    /// No body is longer: the longest entry is a chunk.
    static let bodyByteCountMax = 2 << 20
    /// The byte counts of key and value, in front of an entry's key.
    static let entryHeadByteCount = 8
    /// What the end has: entries of each table, then a SHA-256.
    static let endByteCount = BackupTable.allCases.count * 8 + 32
    static let endKind: UInt8 = 255
}

enum BackupTable: UInt8, CaseIterable {
    case meta = 1
    case notifications, blobs, index, states, chunks

    func table(of tables: Tables) -> Table {
        switch self {
        case .meta: tables.meta
        case .notifications: tables.notifications
        case .blobs: tables.blobs
        case .index: tables.index
        case .states: tables.orphans
        case .chunks: tables.chunks
        }
    }

    var position: Int { Int(rawValue) - 1 }
}

/// What a backup begins with.
public struct BackupHead: Sendable, Hashable {
    /// The store that it is of.
    public let storeID: StoreID
    let formatVersion: UInt32
    /// When it was taken.
    public let takenAt: Timestamp
    /// The last change that it has.
    public let revision: UInt64
    /// Bytes after the head, about.
    public let byteCount: UInt64

    package static let byteCount = 64
    private static let form = ValueForm("", byteCount: byteCount, checksumAt: 56)

    var bytes: [UInt8] {
        var bytes = BackupFormat.magic
        bytes.append(littleEndian: BackupFormat.version)
        bytes.append(littleEndian: formatVersion)
        bytes.append(words: storeID)
        bytes.append(words: takenAt)
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: byteCount)
        bytes.appendZeros(8)
        Self.form.seal(&bytes)
        return bytes
    }

    init(_ bytes: RawSpan) throws(BackupError) {
        guard bytes.byteCount == Self.byteCount,
            bytes.extracting(first: 8).equals(BackupFormat.magic.span.bytes)
        else { throw BackupError("is not a backup of a store") }
        guard Self.form.isWhole(bytes) else { throw BackupError("has a damaged head") }
        let version = bytes.integer(8, as: UInt32.self)
        formatVersion = bytes.integer(12)
        guard version == BackupFormat.version, FormatRecord.versions.contains(formatVersion) else {
            throw BackupError(
                "has backup version \(version) of store format \(formatVersion); this program reads backup version \(BackupFormat.version) of store formats \(FormatRecord.versions.lowerBound) to \(FormatRecord.versions.upperBound)"
            )
        }
        (storeID, takenAt) = (bytes.words(16), bytes.words(32))
        revision = bytes.integer(40)
        byteCount = bytes.integer(48)
    }

    init(_ format: FormatRecord, takenAt: Timestamp, revision: UInt64, byteCount: UInt64) {
        storeID = format.storeID
        formatVersion = format.version
        self.takenAt = takenAt
        self.revision = revision
        self.byteCount = byteCount
    }
}

/// Why a backup cannot be read, as the end of a sentence whose subject is the backup.
public struct BackupError: Error, CustomStringConvertible {
    /// What is wrong with it.
    public let description: String
    init(_ description: String) { self.description = description }
}

extension BackupTable {
    /// Checks an entry, but those that can be made again of others. Returns the blob that it is of; nil: of
    /// none.
    func check(_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> BlobReference? {
        switch self {
        case .notifications:
            try RecordView(value).check(id: key)
            return nil
        case .blobs: return try BlobEntry(key, value).blob
        case .index where key.byte(0) == IndexKeys.quarantinePrefix:
            return try QuarantineEntry(value, key: key).blob
        case .meta, .index, .states, .chunks: return nil
        }
    }
}

/// Which moment of a store a base is of.
package struct BaseMoment: Sendable, Hashable {
    /// The last batch that it has.
    package var sequence: UInt64
    /// The blobs that it has are below this number.
    package var nextBlobNumber: UInt64

    package init(sequence: UInt64, nextBlobNumber: UInt64) {
        self.sequence = sequence
        self.nextBlobNumber = nextBlobNumber
    }
}

/// What a backup is taken for, which decides what is in it.
enum BackupPurpose {
    /// To be restored as another store.
    case backup
    /// To be restored as another store, of one that was made of a bucket: what the bucket has lost is noted.
    case copy
    /// To be the same store in another file.
    case compaction
    /// To be where a follower begins: the bytes of long blobs are objects of their own.
    case base

    var requiresAllPayloads: Bool { if case .base = self { false } else { true } }

    /// Whether it says which blobs are damaged, and lacks their bytes: who begins with a base looks for them
    /// in the bucket.
    var keepsDamage: Bool {
        switch self {
        case .base, .copy: true
        case .backup, .compaction: false
        }
    }

    /// What it has of `meta` besides the counters, in the order of the names.
    var metaNames: [String] {
        switch self {
        case .backup, .copy: [FormatRecord.name, Predecessors.name]
        case .compaction:
            [EpochList.name, FormatRecord.name, Predecessors.name, ReplicationState.name]
        case .base: [EpochList.name, FormatRecord.name, Predecessors.name]
        }
    }

    /// Whether it has an entry. What waits to be shipped is this host's alone, and another store has nothing
    /// to do with the shard.
    func includes(_ key: RawSpan, of table: BackupTable) -> Bool {
        guard case .index = table else { return true }
        let prefix = key.byte(0)
        switch self {
        case .backup, .copy:
            return prefix != IndexKeys.outboxPrefix && prefix != IndexKeys.retiredPrefix
        case .compaction: return true
        case .base: return prefix != IndexKeys.outboxPrefix
        }
    }

    /// The format record that it has. A store that is restored is not replicated.
    func format(_ format: FormatRecord) -> FormatRecord {
        switch self {
        case .backup, .copy:
            var format = format
            format.version = min(format.version, FormatRecord.version)
            return format
        case .compaction, .base: return format
        }
    }
}
