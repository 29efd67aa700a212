internal import Bytes

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

    /// What it has of `meta` beside the counters, in the order of the names.
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
