internal import LMDB
internal import Synchronization

extension BlobStore {
    /// Does one step of a long change, in one transaction. Returns whether that was the last one. What earlier
    /// steps did stays done where one is refused.
    public func advance(
        _ change: inout LongChange, asOf now: Timestamp
    ) throws(StoreError) -> Bool {
        var checked = try CheckedLongChange(change, asOf: now)
        defer { change = checked.change }
        return try advance(&checked, asOf: now)
    }

    /// Applies one patch to all of an owner's notifications of a group, in as many transactions as it takes. Damaged
    /// ones are left, and counted in ``LongChange/damaged``; so it is below.
    @discardableResult
    public func patchGroup(
        _ group: String, of owner: String, app: String? = nil, _ patch: NotificationPatch,
        asOf now: Timestamp
    ) throws(StoreError) -> LongChange {
        try finish(.patchGroup(owner: owner, group: group, app: app, patch), asOf: now)
    }

    /// Removes all of an owner's notifications of a group, each told in the feed.
    @discardableResult
    public func deleteGroup(
        _ group: String, of owner: String, app: String? = nil, device: String? = nil,
        asOf now: Timestamp
    ) throws(StoreError) -> LongChange {
        try finish(
            .deleteGroup(owner: owner, group: group, app: app, device: device), asOf: now)
    }

    /// Removes all of an owner's notifications. Followers of the owner's feed must read the history again.
    @discardableResult
    public func deleteOwner(
        _ owner: String, asOf now: Timestamp
    ) throws(StoreError) -> LongChange {
        try finish(.deleteOwner(owner), asOf: now)
    }

    private func finish(
        _ change: LongChange, asOf now: Timestamp
    ) throws(StoreError) -> LongChange {
        var checked = try CheckedLongChange(change, asOf: now)
        while try !advance(&checked, asOf: now) {}
        return checked.change
    }

    package func advance(
        _ checked: inout CheckedLongChange, asOf now: Timestamp
    ) throws(StoreError) -> Bool {
        let before = checked.change
        var irremovable: Set<UInt64> = []
        while true {
            var place: UInt64?
            do throws(StoreError) {
                let (after, isDone) = try pipeline.changeInSteps(
                    of: StoreLimits.longChangeStepCountMax,
                    growth: { (countMax) throws(StoreError) in
                        try growth(of: before, countMax: countMax)
                    },
                    asOf: now, isPublishing: before.needsRoom
                ) { (transaction, countMax) throws(StoreError) in
                    var change = before
                    defer { place = change.current }
                    let isDone = try transaction.advance(
                        &change, countMax: countMax, except: irremovable)
                    return (change, isDone)
                }
                checked.change = after
                let count = after.damaged - before.damaged
                core.quarantine.damagedRecords.add(count, ordering: .relaxed)
                return isDone
            } catch {
                // The others do not wait for one that met damage in the middle of its change.
                guard case .corrupt = error, let place, irremovable.insert(place).inserted else {
                    throw error
                }
            }
        }
    }

    private func growth(of change: LongChange, countMax: Int) throws(StoreError) -> Int {
        guard case .patchGroup(let owner, let group, _, let patch) = change.kind else { return 0 }
        let count = try makeSnapshot().places(
            from: IndexKeys.group(owner, group, change.position &+ 1),
            upTo: IndexKeys.group(owner, group, .max), countMax: countMax
        ).count
        return count * Change.patch(patch).bookkeepingCost.bytes * core.environment.pageScale
    }
}

extension LongChange {
    fileprivate var needsRoom: Bool {
        if case .patchGroup = kind { true } else { false }
    }
}
