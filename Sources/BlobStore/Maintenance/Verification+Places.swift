internal import Bytes
internal import LMDB

/// What the places of notifications in the index come to: a sum of what the notifications say, and one of what the
/// index has. Nothing has to be looked up to compare them: three million in 4 s instead of 8. Sets that differ have
/// one sum by chance once in 2⁶⁴ times.
struct PlaceSums: Equatable {
    let countsOwners: Bool
    /// Of places in feeds and histories.
    private var places: UInt64 = 0
    /// Of members of groups.
    private var members: UInt64 = 0
    /// Of what owners have.
    private var notifications: UInt64 = 0
    private var bytes: UInt64 = 0

    init(countsOwners: Bool = false) { self.countsOwners = countsOwners }

    mutating func add(_ record: Record) {
        guard let owner = record.owner else { return }
        // Most have never changed, and then both places are one entry.
        if record.sequence == record.revision {
            add(record.id, [.history, .feed], at: record.sequence, of: owner)
        } else {
            add(record.id, .history, at: record.sequence, of: owner)
            add(record.id, .feed, at: record.revision, of: owner)
        }
        if let group = record.details.group {
            addMember(key: IndexKeys.group(owner, group, record.sequence).span.bytes)
        }
        var usage = OwnerUsage()
        usage.add(record.byteCount)
        add(usage, of: owner)
    }

    private mutating func add(
        _ id: String, _ indexes: SequenceEntry.Indexes, at number: UInt64, of owner: String
    ) {
        let entry = SequenceEntry(indexes, id: id)
        add(entry, key: IndexKeys.sequence(owner, number).span.bytes)
    }

    mutating func add(_ entry: SequenceEntry, key: RawSpan) {
        var hasher = Hasher()
        hasher.combine(entry.indexes.rawValue)
        key.withUnsafeBytes { hasher.combine(bytes: $0) }
        entry.id.utf8.span.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        places &+= UInt64(bitPattern: Int64(hasher.finalize()))
    }

    mutating func addMember(key: RawSpan) { members &+= Self.fingerprint(key) }

    /// Adds what an owner has. The parts of it may come one by one.
    mutating func add(_ usage: OwnerUsage, of owner: String) {
        guard countsOwners else { return }
        let factor = Self.fingerprint(owner.utf8.span.bytes)
        notifications &+= factor &* usage.notifications
        bytes &+= factor &* usage.bytes
    }

    /// A number for a key, of this process: so that two sets of keys can be compared by their sums.
    static func fingerprint(_ key: RawSpan) -> UInt64 {
        var hasher = Hasher()
        key.withUnsafeBytes { hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

// Each notification's places, and what each place names, looked up: to name what disagrees.

extension Snapshot {
    /// Names the places that do not agree with the notifications.
    borrowing func findMisplaced(_ recount: Recount) throws(StoreError) {
        // What cannot be read was said when it was read first.
        let said = Recount()
        try walk(tables.notifications, said) { (cursor) throws(StoreError) in
            try checkEntries(of: cursor.record(), recount)
        }
        let countsOwners = try format().countsOwners
        var owners = OwnerRecount()
        try walk(tables.index, said) { (cursor) throws(StoreError) in
            let key = cursor.key
            guard key.byteCount > 0, key.byte(0) == IndexKeys.ownersPrefix else { return }
            let entry = try IndexEntry(key, cursor.value)
            if countsOwners, let owner = entry.owner { owners.begin(owner, &recount.report) }
            switch entry {
            case .sequence(let entry, let owner, let revision):
                guard entry.kind == .live else { return }
                let byteCount = try check(entry, of: owner, at: revision, recount)
                if let byteCount { owners.counted.add(byteCount) }
            case .member(let owner, let group, let sequence):
                try checkMember(of: group, owner, sequence, recount)
            case .usage(let usage, _): owners.stored = usage
            default: break
            }
        }
        owners.end(&recount.report)
        if recount.report.isClean { recount.add("the index does not agree with the notifications") }
    }

    private borrowing func checkEntries(of record: Record, _ recount: Recount) throws(StoreError) {
        guard let owner = record.owner else { return }
        let latest = try sequenceEntry(owner, record.revision)
        // Most have never changed, and then both are one entry.
        let first =
            record.sequence == record.revision
            ? latest : try sequenceEntry(owner, record.sequence)
        for (number, index, name, entry) in [
            (record.revision, SequenceEntry.Indexes.feed, "feed", latest),
            (record.sequence, .history, "history", first),
        ] {
            guard let entry, entry.kind == .live, entry.indexes.contains(index),
                entry.id.isSame(as: record.id)
            else {
                recount.add(
                    "notification \(record.id) has no entry \(number) in the \(name) of \(owner)")
                continue
            }
        }
        guard let group = record.details.group else { return }
        if try !hasIndexEntry(IndexKeys.group(owner, group, record.sequence)) {
            recount.add("notification \(record.id) is missing in the group \(group) of \(owner)")
        }
    }

    /// A place of a notification that is there. Returns the bytes of its parts where it is its place in the
    /// history; nil where not.
    private borrowing func check(
        _ entry: SequenceEntry, of owner: String, at number: UInt64,
        _ recount: Recount
    ) throws(StoreError) -> Int? {
        guard let record = try record(entry.id), record.owner.isSame(as: owner),
            !entry.indexes.contains(.feed) || record.revision == number,
            !entry.indexes.contains(.history) || record.sequence == number
        else {
            recount.add("entry \(number) of \(owner) does not match notification \(entry.id)")
            return nil
        }
        return entry.indexes.contains(.history) ? record.byteCount : nil
    }

    private borrowing func checkMember(
        of group: String, _ owner: String, _ sequence: UInt64, _ recount: Recount
    ) throws(StoreError) {
        guard let entry = try sequenceEntry(owner, sequence), entry.indexes.contains(.history),
            let record = try record(entry.id), record.details.group.isSame(as: group)
        else {
            recount.add("member \(sequence) of the group \(group) of \(owner) does not exist")
            return
        }
    }
}

/// Recounts what each owner has, while the index is walked over: an owner's entries are next to each
/// other, those of the history before the usage.
struct OwnerRecount {
    /// Whose entries they are; nil: nobody's.
    private var owner: String?
    /// What the entries of the history say.
    var counted = OwnerUsage()
    var stored: OwnerUsage?

    /// Moves on to the next entry, which is an owner's.
    mutating func begin(_ owner: String, _ report: inout VerifyReport) {
        if let own = self.owner, own.isSame(as: owner) { return }
        end(&report)
        self.owner = owner
    }

    mutating func end(_ report: inout VerifyReport) {
        if let owner, stored ?? OwnerUsage() != counted {
            let stored = stored ?? OwnerUsage()
            report.add(
                "the usage of \(owner) is \(stored.notifications) notifications, \(stored.bytes) bytes; counted: \(counted.notifications), \(counted.bytes)"
            )
        }
        self = OwnerRecount()
    }
}
