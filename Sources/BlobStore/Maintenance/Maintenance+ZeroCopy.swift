internal import LMDB
internal import Synchronization

extension Maintenance {
    /// See ``BlobStore/allowZeroCopy(at:graceMilliseconds:)``.
    func allowZeroCopy(
        at now: BootTime, graceMilliseconds: Int64
    ) throws(StoreError) {
        try pipeline.whileWriting { () throws(StoreError) in
            let (old, last, nextBlobNumber) = try core.withSnapshot {
                (snapshot) throws(StoreError) in
                (
                    try snapshot.zeroCopyMark(), snapshot.transaction.id,
                    try snapshot.counters().nextBlobNumber
                )
            }
            let moment = now.milliseconds
            var mark = ZeroCopyMark(
                bootID: now.bootID, returnedTransaction: last, transaction: last, moment: moment)
            // Who is the first of its boot to send zero-copy finds nothing sent.
            var firstOwnNumber: UInt64 = 0
            switch old {
            case .none: break
            case .damaged:
                // What was sent is not known, so all of it counts as sent until now.
                mark.returnedTransaction = 0
                firstOwnNumber = nextBlobNumber
            case .mark(let old) where old.bootID == now.bootID:
                mark = old.followed(by: last, at: moment, graceMilliseconds: graceMilliseconds)
                firstOwnNumber = nextBlobNumber
            case .mark: break
            }
            core.leases.zeroCopyGrace.withLock {
                $0 = ZeroCopyGrace(
                    mark: mark, graceMilliseconds: graceMilliseconds, start: moment,
                    firstOwnNumber: firstOwnNumber)
            }
            if old != .mark(mark) {
                try pipeline.inTransaction(
                    growth: 0, asOf: Timestamp(milliseconds: 0), isPublishing: false
                ) { (transaction) throws(StoreError) in
                    try transaction.setMeta(ZeroCopyMark.name, to: mark.bytes)
                }
            }
            core.leases.allowsZeroCopy.store(true, ordering: .releasing)
        }
    }
}

/// What a store says of what earlier runs sent zero-copy.
private enum StoredZeroCopyMark: Equatable {
    /// No run sent anything zero-copy.
    case none
    case mark(ZeroCopyMark)
    case damaged
}

extension Snapshot {
    fileprivate borrowing func zeroCopyMark() throws(StoreError) -> StoredZeroCopyMark {
        let name = Array(ZeroCopyMark.name.utf8)
        guard let value = try transaction.view.get(name.span.bytes, in: store.tables.meta) else {
            return .none
        }
        guard let mark = try? ZeroCopyMark(value) else { return .damaged }
        return .mark(mark)
    }
}
