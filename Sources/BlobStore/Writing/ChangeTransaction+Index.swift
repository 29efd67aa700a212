// The only code that writes owners' keys.

extension ChangeTransaction {
    /// A record has come to its owner with its revision set: its place in history and feed, its
    /// group's entry; the tombstone of an earlier one of its id goes.
    mutating func noteArrival(_ record: Record) throws(StoreError) {}

    /// A record of the same owner was changed: its place in the feed moves to the new revision.
    mutating func noteChange(_ old: Record, to new: Record) throws(StoreError) {}

    /// A record has left its owner with the present revision: a tombstone takes its place.
    mutating func noteDeparture(
        _ record: Record, _ kind: SequenceEntry.Kind, device: String?
    ) throws(StoreError) {}

    /// A tombstone's retention is over.
    mutating func dropTombstone(owner: String, revision: UInt64) throws(StoreError) {}

    /// Everything of an owner up to the present revision is gone.
    mutating func markAccount(_ owner: String) throws(StoreError) {}
}
