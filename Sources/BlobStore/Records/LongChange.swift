internal import Bytes
internal import LMDB

/// A change of many notifications, done in steps that are one bounded transaction each
/// (``BlobStore/advance(_:asOf:)``). What was published after its first step is left alone.
public struct LongChange: Sendable {
    enum Kind: Sendable {
        case patchGroup(owner: String, group: String, app: String?, NotificationPatch)
        case deleteGroup(owner: String, group: String, app: String?, device: String?)
        case deleteOwner(String)
    }
    let kind: Kind
    /// The revision at its first step; nil before that.
    var bound: UInt64?
    /// The sequence of the last one that was looked at.
    var position: UInt64 = 0
    /// Notifications that were looked at.
    public internal(set) var matched = 0
    /// Notifications that were changed or removed.
    public internal(set) var changed = 0
    /// Notifications that were left as they are because something of theirs is damaged; `verify` names it.
    public internal(set) var damaged = 0
    /// The ids of the first of those, as far as they can be read.
    public internal(set) var damagedIDs: [String] = []
    /// As many ids of damaged notifications are kept.
    public static let damagedIDCountMax = 10
    /// The place of the one that is being done.
    var current: UInt64?

    /// One patch for all of an owner's notifications of one group, or for those that are one app's. Its id and its
    /// condition are ignored; a category that it names must be the app's or, without an app, one of all apps.
    public static func patchGroup(
        owner: String, group: String, app: String? = nil, _ patch: NotificationPatch
    ) -> LongChange {
        LongChange(kind: .patchGroup(owner: owner, group: group, app: app, patch))
    }

    /// The removal of all of an owner's notifications of one group, or of those that are one app's. Each is told in
    /// the feed. `device`: where it comes from.
    public static func deleteGroup(
        owner: String, group: String, app: String? = nil, device: String? = nil
    ) -> LongChange {
        LongChange(kind: .deleteGroup(owner: owner, group: group, app: app, device: device))
    }

    /// The end of an account: all of its notifications, and what the store remembers of those it
    /// had.
    public static func deleteOwner(_ owner: String) -> LongChange {
        LongChange(kind: .deleteOwner(owner))
    }

    private init(kind: Kind) { self.kind = kind }

    /// Leaves a damaged notification out. `id`: nil where it cannot be read.
    mutating func noteDamaged(_ id: String?, count: Int = 1) {
        damaged += count
        guard let id, damagedIDs.count < Self.damagedIDCountMax else { return }
        damagedIDs.append(id)
    }
}

// Its place is moved on in the change itself, which counts only when the transaction is committed.

extension ChangeTransaction {
    /// Does a step. `irremovable`: places at which an attempt met damage in the middle of the change.
    ///
    /// - Returns: whether nothing is left to do.
    mutating func advance(
        _ change: inout LongChange, countMax: Int, except irremovable: Set<UInt64> = []
    ) throws(StoreError) -> Bool {
        let bound = change.bound ?? counters.revision
        change.bound = bound
        switch change.kind {
        case .patchGroup(let owner, let group, let app, let patch):
            try check(patch, for: app)
            let places = try members(of: group, owner, change, upTo: bound, countMax: countMax)
            return try walk(places, of: owner, countMax: countMax, except: irremovable, &change) {
                (transaction, place, change) throws(StoreError) in
                try transaction.patchMember(owner, at: place, app, patch, &change)
            }
        case .deleteGroup(let owner, let group, let app, let device):
            let places = try members(of: group, owner, change, upTo: bound, countMax: countMax)
            return try walk(places, of: owner, countMax: countMax, except: irremovable, &change) {
                (transaction, place, change) throws(StoreError) in
                try transaction.removeMember(owner, at: place, app, device: device, &change)
            }
        case .deleteOwner(let owner):
            let places = try places(
                from: IndexKeys.sequence(owner, change.position &+ 1),
                upTo: IndexKeys.sequence(owner, bound), countMax: countMax)
            let isDone = try walk(
                places, of: owner, countMax: countMax, except: irremovable, &change
            ) { (transaction, place, change) throws(StoreError) in
                try transaction.removeEntry(owner, at: place, &change)
            }
            if !places.isEmpty { try markAccount(owner) }
            if isDone { try noteUnlisted(owner, after: bound, &change) }
            return isDone
        }
    }

    /// Calls `body` at each of `places` until the transaction is large enough. `body`: returns how many puts
    /// and deletes it took, about. Returns whether there are no more places than these.
    private mutating func walk(
        _ places: [UInt64], of owner: String, countMax: Int, except irremovable: Set<UInt64>,
        _ change: inout LongChange,
        _ body: (
            inout ChangeTransaction, UInt64, inout LongChange
        ) throws(StoreError) -> Int
    ) throws(StoreError) -> Bool {
        var puts = 0
        for place in places {
            guard puts < StoreLimits.transactionPutCountMax else { return false }
            if irremovable.contains(place) {
                change.noteDamaged((try? sequenceEntry(owner, place))?.id)
            } else {
                change.current = place
                puts += try body(&self, place, &change)
            }
            change.position = place
        }
        change.current = nil
        return places.count < countMax
    }

    /// Counts as damaged what an account still has when nothing of it is listed any more.
    private borrowing func noteUnlisted(
        _ owner: String, after bound: UInt64, _ change: inout LongChange
    ) throws(StoreError) {
        guard change.damaged == 0, bound < .max else { return }
        let count = try usage(of: owner).notifications
        guard count > 0 else { return }
        let newer = try places(
            from: IndexKeys.sequence(owner, bound + 1), upTo: IndexKeys.sequence(owner, .max),
            countMax: 1)
        if newer.isEmpty { change.noteDamaged(nil, count: Int(clamping: count)) }
    }

    /// The places in the history of a group's members that a step is of.
    private borrowing func members(
        of group: String, _ owner: String, _ change: LongChange, upTo bound: UInt64, countMax: Int
    ) throws(StoreError) -> [UInt64] {
        try places(
            from: IndexKeys.group(owner, group, change.position &+ 1),
            upTo: IndexKeys.group(owner, group, bound), countMax: countMax)
    }

    /// The member of a group that has that place in the history; nil when it has expired, is another app's, or is
    /// damaged, which is counted.
    private borrowing func member(
        _ owner: String, at sequence: UInt64, _ app: String?, _ change: inout LongChange
    ) -> Record? {
        guard let entry = try? sequenceEntry(owner, sequence), entry.kind == .live else {
            change.noteDamaged(nil)
            return nil
        }
        guard let found = try? record(entry.id), found.owner.isSame(as: owner),
            found.sequence == sequence
        else {
            change.noteDamaged(entry.id)
            return nil
        }
        return app == nil || found.app.isSame(as: app) ? live(found) : nil
    }

    private mutating func removeMember(
        _ owner: String, at sequence: UInt64, _ app: String?, device: String?,
        _ change: inout LongChange
    ) throws(StoreError) -> Int {
        guard let live = member(owner, at: sequence, app, &change) else { return 0 }
        guard (try? isRemovable(live)) == true else {
            change.noteDamaged(live.id)
            return 0
        }
        change.matched += 1
        try remove(live, .deleted, device: device)
        change.changed += 1
        return 9 + 2 * live.parts.count
    }

    private mutating func patchMember(
        _ owner: String, at sequence: UInt64, _ app: String?, _ patch: NotificationPatch,
        _ change: inout LongChange
    ) throws(StoreError) -> Int {
        guard let live = member(owner, at: sequence, app, &change) else { return 0 }
        change.matched += 1
        let patched = try patch.applied(to: live)
        guard case .changed = try self.change(live, to: patched, device: patch.device) else {
            return 0
        }
        change.changed += 1
        let isExtended = patched.expiresAt > live.expiresAt
        return 8 + (isExtended ? live.parts.count : 0)
    }

    /// Removes what stands at a revision of an owner, and leaves no trace of it, unless it is damaged.
    private mutating func removeEntry(
        _ owner: String, at revision: UInt64, _ change: inout LongChange
    ) throws(StoreError) -> Int {
        let found: SequenceEntry?
        do throws(StoreError) {
            found = try sequenceEntry(owner, revision)
        } catch {
            guard case .corrupt = error else { throw error }
            change.noteDamaged(nil)
            return 0
        }
        // A notification that was changed has two places, and is removed at the first.
        guard let entry = found else { return 0 }
        guard entry.kind == .live else {
            try dropTombstone(owner: owner, revision: revision)
            return 3
        }
        guard let record = try? record(entry.id), record.owner.isSame(as: owner),
            record.sequence == revision || record.revision == revision,
            (try? isRemovable(record)) == true
        else {
            // Where it stands in the feed alone it was counted at its place in the history.
            if entry.indexes.contains(.history) { change.noteDamaged(entry.id) }
            return 0
        }
        change.matched += 1
        try drop(record)
        try removeEntries(of: record, owner)
        change.changed += 1
        return 6 + 2 * record.parts.count
    }
}
