internal import Bytes

/// An entry of the table `index`, with its key taken apart and its value checked.
enum IndexEntry {
    /// What ends when.
    case time(TimeEntry)
    case category(Category)
    case categoryEdit(CategoryEditEntry)
    case quarantine(QuarantineEntry)
    /// A batch that waits to be shipped.
    case outbox(ReplicatedBatch)
    /// A blob that only older bases have.
    case retired
    case sequence(SequenceEntry, owner: String, revision: UInt64)
    case member(owner: String, group: String, sequence: UInt64)
    case finder(TombstoneIndexEntry, owner: String, hash: [UInt8])
    case mark(PurgeMarker, owner: String)
    case usage(OwnerUsage, owner: String)

    init(_ key: RawSpan, _ value: RawSpan) throws(StoreError) {
        if let entry = try TimeEntry(key) {
            self = .time(entry)
            return
        }
        switch key.byte(0) {
        case IndexKeys.categoriesPrefix:
            self = .category(try Category(value, key: key))
        case IndexKeys.categoryEditsPrefix:
            self = .categoryEdit(try CategoryEditEntry(value, key: key))
        case IndexKeys.quarantinePrefix: self = .quarantine(try QuarantineEntry(value, key: key))
        case IndexKeys.outboxPrefix: self = .outbox(try ReplicatedBatch(value.array()))
        case IndexKeys.retiredPrefix: self = .retired
        default:
            switch try OwnerKey(key) {
            case .sequence(let owner, let revision):
                self = .sequence(
                    try SequenceEntry(value, key: key), owner: owner, revision: revision)
            case .group(let owner, let group, let sequence):
                self = .member(owner: owner, group: group, sequence: sequence)
            case .finder(let owner, let hash):
                self = .finder(
                    try TombstoneIndexEntry(value, key: key), owner: owner, hash: hash)
            case .mark(let owner): self = .mark(try PurgeMarker(value, key: key), owner: owner)
            case .usage(let owner): self = .usage(try OwnerUsage(value, key: key), owner: owner)
            }
        }
    }

    /// Whose it is; nil: nobody's.
    var owner: String? {
        switch self {
        case .sequence(_, let owner, _), .member(let owner, _, _), .finder(_, let owner, _),
            .mark(_, let owner), .usage(_, let owner):
            owner
        default: nil
        }
    }
}

/// A key of the index that says what ends when. The byte after the time tells notifications, whose
/// ids never begin with a control character, from everything else.
enum TimeEntry: Hashable {
    /// The byte after the byte 00 after the time.
    enum Kind: UInt8 {
        case tombstone = 1
        case hold = 2
        case mark = 3
    }

    /// A notification expires.
    case notification(Timestamp, id: String)
    /// A tombstone's retention ends.
    case tombstone(Timestamp, owner: String, revision: UInt64)
    /// A blob is no longer kept without a reference.
    case hold(Timestamp, Digest)
    /// a purge marker's retention ends.
    case mark(Timestamp, owner: String)

    /// Takes a key apart; nil after the times, where owners' keys and categories are.
    init?(_ key: RawSpan) throws(StoreError) {
        let damaged = StoreError.corrupt("an entry of the expiry table")
        guard key.byteCount > 0 else { throw damaged }
        guard key.byte(0) == IndexKeys.timesPrefix else { return nil }
        let offset = IndexKeys.timeByteCount
        guard key.byteCount > offset else { throw damaged }
        let time = Timestamp(
            milliseconds: Int64(bitPattern: UInt64(bigEndian: key.word(0))))
        guard key.byte(offset) == 0 else {
            self = .notification(time, id: key.extracting(offset..<key.byteCount).text())
            return
        }
        guard key.byteCount > offset + 1, let kind = Kind(rawValue: key.byte(offset + 1))
        else { throw damaged }
        let rest = key.extracting(offset + 2..<key.byteCount)
        switch kind {
        case .tombstone:
            // The owner, 00, and eight bytes.
            let end = rest.byteCount - 9
            guard end >= 0, rest.byte(end) == 0 else { throw damaged }
            self = .tombstone(
                time, owner: rest.extracting(0..<end).text(),
                revision: UInt64(bigEndian: rest.word(end + 1)))
        case .hold:
            guard let digest = Digest(bytes: rest) else { throw damaged }
            self = .hold(time, digest)
        case .mark:
            self = .mark(time, owner: rest.text())
        }
    }

    var time: Timestamp {
        switch self {
        case .notification(let time, _), .tombstone(let time, _, _), .hold(let time, _),
            .mark(let time, _):
            time
        }
    }
}
