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
