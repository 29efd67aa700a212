internal import LMDB

extension CommitPipeline {
    /// One step of a long change: ``BlobStore/advance(_:asOf:)``.
    func advance(
        _ checked: inout CheckedLongChange, asOf now: Timestamp
    ) throws(StoreError) -> Bool {
        let before = checked.change
        let (after, isDone) = try whileWriting { () throws(StoreError) in
            try inShrinkingSteps(of: StoreLimits.longChangeStepCountMax) {
                (countMax) throws(StoreError) in
                var change = before
                let growth = try growth(of: change, countMax: countMax)
                let isDone = try inTransaction(
                    growth: growth, asOf: now,
                    isPublishing: change.needsRoom
                ) { (transaction) throws(StoreError) in
                    try transaction.advance(&change, countMax: countMax)
                }
                return (change, isDone)
            }
        }
        checked.change = after
        return isDone
    }

    /// Bytes that a step of at most `countMax` notifications may add to the file.
    private func growth(of change: LongChange, countMax: Int) throws(StoreError) -> Int {
        guard case .patchGroup(let owner, let group, _, let patch) = change.kind else { return 0 }
        let count = try core.withSnapshot { (snapshot) throws(StoreError) in
            var cursor = try snapshot.transaction.cursor(in: core.tables.index)
            return try cursor.places(
                from: IndexKeys.group(owner, group, change.position &+ 1),
                upTo: IndexKeys.group(owner, group, .max), countMax: countMax
            ).count
        }
        return count * Change.patch(patch).bookkeepingCost.bytes * core.environment.pageScale
    }
}

extension LongChange {
    /// Whether it is refused when there is no room.
    fileprivate var needsRoom: Bool {
        if case .patchGroup = kind { true } else { false }
    }
}
