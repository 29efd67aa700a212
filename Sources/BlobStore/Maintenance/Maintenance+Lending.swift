internal import LMDB
internal import Synchronization

extension Maintenance {
    /// See ``BlobStore/beginLending(at:graceMilliseconds:)``.
    func beginLending(
        at now: BootTime, graceMilliseconds: Int64
    ) throws(StoreError) {
        try pipeline.whileWriting { () throws(StoreError) in
            let (old, last, nextBlobNumber) = try core.withSnapshot {
                (snapshot) throws(StoreError) in
                (
                    try snapshot.lendingMark(), snapshot.transaction.id,
                    try snapshot.counters().nextBlobNumber
                )
            }
            let moment = now.milliseconds
            var mark = LendingMark(
                bootID: now.bootID, returnedTransaction: last, transaction: last, moment: moment)
            // Who is the first of its boot to lend finds nothing lent.
            var firstOwnNumber: UInt64 = 0
            switch old {
            case .none: break
            case .damaged:
                // Who lent what is not known, so all of it counts as lent until now.
                mark.returnedTransaction = 0
                firstOwnNumber = nextBlobNumber
            case .mark(let old) where old.bootID == now.bootID:
                mark = old.followed(by: last, at: moment, graceMilliseconds: graceMilliseconds)
                firstOwnNumber = nextBlobNumber
            case .mark: break
            }
            core.leases.lending.withLock {
                $0 = PageLending(
                    mark: mark, graceMilliseconds: graceMilliseconds, start: moment,
                    firstOwnNumber: firstOwnNumber)
            }
            if old != .mark(mark) {
                try pipeline.inTransaction(
                    growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
                ) { (transaction) throws(StoreError) in
                    try transaction.setMeta(LendingMark.name, to: mark.bytes)
                }
            }
            core.leases.mayLend.store(true, ordering: .releasing)
        }
    }
}

/// What a store says of what earlier runs lent.
private enum StoredLendingMark: Equatable {
    /// No run lent anything.
    case none
    case mark(LendingMark)
    case damaged
}

extension Snapshot {
    fileprivate borrowing func lendingMark() throws(StoreError) -> StoredLendingMark {
        let name = Array(LendingMark.name.utf8)
        guard let value = try transaction.view.get(name.span.bytes, in: store.tables.meta) else {
            return .none
        }
        guard let mark = try? LendingMark(value) else { return .damaged }
        return .mark(mark)
    }
}
