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
    /// Bytes behind the head, about.
    public let byteCount: UInt64

    package static let byteCount = 64
    private static let checkedByteCount = 56

    var bytes: [UInt8] {
        var bytes = BackupFormat.magic
        bytes.append(littleEndian: BackupFormat.version)
        bytes.append(littleEndian: formatVersion)
        storeID.append(to: &bytes)
        bytes.append(littleEndian: takenAt.milliseconds)
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: byteCount)
        bytes.append(littleEndian: Checksum(bytes.span.bytes).value)
        bytes.append(littleEndian: UInt32(0))
        return bytes
    }

    init(_ bytes: RawSpan) throws(BackupError) {
        guard bytes.byteCount == Self.byteCount,
            bytes.extracting(first: 8).equals(BackupFormat.magic.span.bytes)
        else { throw BackupError("is not a backup of a store") }
        guard
            bytes.integer(Self.checkedByteCount, as: UInt32.self)
                == Checksum(bytes.extracting(first: Self.checkedByteCount)).value
        else { throw BackupError("has a damaged head") }
        let version = bytes.integer(8, as: UInt32.self)
        formatVersion = bytes.integer(12)
        guard version == BackupFormat.version, FormatRecord.versions.contains(formatVersion) else {
            throw BackupError(
                "has backup version \(version) of store format \(formatVersion); this program reads backup version \(BackupFormat.version) of store formats \(FormatRecord.versions.lowerBound) to \(FormatRecord.versions.upperBound)"
            )
        }
        storeID = StoreID(high: bytes.integer(16), low: bytes.integer(24))
        takenAt = Timestamp(milliseconds: bytes.integer(32))
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
        case .blobs: return try BlobEntry.read(key, value).reference
        case .index where key.byte(0) == IndexKeys.quarantinePrefix:
            return try QuarantineEntry(value, key: key).blob
        case .meta, .index, .states, .chunks: return nil
        }
    }
}
