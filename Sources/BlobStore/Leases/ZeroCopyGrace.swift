/// Which orphans may have pages with the peers of a run that has ended.
///
/// `sendfile` puts pages of `data.mdb` into the receiver's socket queue, and the receiver may read
/// them after the sender is gone. While a process lives its leases say which blobs those are. What
/// the runs before it sent is not known; so whatever they could have sent stays as it is until
/// their peers have had a while to read.
struct ZeroCopyGrace {
    let mark: ZeroCopyMark
    let graceMilliseconds: Int64
    /// When this run began, in milliseconds of the boot clock.
    let start: Int64
    /// Blobs from this number on are this run's: no earlier one sent them.
    let firstOwnNumber: UInt64

    /// Whether it is over for a blob that is not an orphan: earlier runs could send it until this one began.
    func isOver(for number: UInt64, bootMilliseconds: Int64?) -> Bool {
        graceMilliseconds <= 0 || number >= firstOwnNumber
            || ZeroCopyMark.isOver(graceMilliseconds, after: start, at: bootMilliseconds)
    }

    /// Whether no peer of an earlier run can be reading it any more. `bootMilliseconds`: the boot clock's
    /// present; nil counts as the start of this run.
    func isReturned(_ number: UInt64, _ entry: BlobStateEntry, bootMilliseconds: Int64?) -> Bool {
        // Nothing ever referred to it, so nobody could ask for it.
        if entry.state == .staged || graceMilliseconds <= 0 { return true }
        // Too short for any stretch of it to be sent zero-copy.
        if entry.storedByteCount < DataPages.byteCountMin { return true }
        if entry.transaction <= mark.returnedTransaction || number >= firstOwnNumber { return true }
        let moment = entry.transaction <= mark.transaction ? mark.moment : start
        return ZeroCopyMark.isOver(graceMilliseconds, after: moment, at: bootMilliseconds)
    }
}

/// Which orphans nobody can be reading.
struct FreeingRule {
    /// Orphans of later transactions have to wait.
    var oldestViewed: UInt64
    let leases: LeaseTable
    let zeroCopyGrace: ZeroCopyGrace?
    let bootMilliseconds: Int64?

    func allows(_ number: UInt64, _ entry: BlobStateEntry) -> Bool {
        entry.transaction <= oldestViewed && !leases.isHeld(number)
            && zeroCopyGrace?.isReturned(number, entry, bootMilliseconds: bootMilliseconds) != false
    }
}
