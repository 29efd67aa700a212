internal import Bytes

/// An entry of the table `index`, with its key taken apart and its value checked: the one place that says
/// what stands under which key.
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
