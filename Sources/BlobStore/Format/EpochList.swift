internal import Bytes

/// The value `epochs` of the table `meta`: where each leader's history begins. It is shipped with the changes.
///
/// The numbers of an epoch begin after a gap, and so do those of a start that does not know yet whether it leads.
/// Numbers in a gap were given by another leader, or another copy of this one, to changes that were lost.
struct EpochList: Equatable, MetaValue {
    /// One epoch, or a start in it.
    struct Epoch: Equatable, BitwiseCopyable {
        var epoch: UInt64
        /// The last revision before the gap.
        var revisionBefore: UInt64
        /// The revision that the epoch begins after.
        var revision: UInt64
        /// The last batch before this epoch's first.
        var sequence: UInt64

        fileprivate static let byteCount = 32
    }

    static let name = "epochs"
    private static let form = ValueForm(
        "the epochs of the replication",
        byteCounts: 4...StoreLimits.epochCountMax * Epoch.byteCount + 4, checksumAt: -4,
        restAt: nil)
    /// In the order of their epochs, and of their revisions.
    private(set) var epochs: [Epoch] = []

    init() {}

    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value)
        let count = (value.byteCount - 4) / Epoch.byteCount
        guard value.byteCount == count * Epoch.byteCount + 4 else { throw Self.form.damaged }
        for index in 0..<count {
            let epoch: Epoch = value.words(index * Epoch.byteCount)
            guard epoch.revisionBefore <= epoch.revision,
                epochs.last.map({ $0.epoch <= epoch.epoch && $0.revision <= epoch.revisionBefore })
                    != false
            else { throw Self.form.damaged }
            epochs.append(epoch)
        }
    }

    var value: [UInt8] {
        var bytes: [UInt8] = []
        for epoch in epochs { bytes.append(words: epoch) }
        bytes.appendZeros(4)
        Self.form.seal(&bytes)
        return bytes
    }

    /// With a new epoch. Of too many the oldest go.
    func adding(_ epoch: Epoch) -> EpochList {
        var list = self
        list.epochs = (epochs + [epoch]).suffix(StoreLimits.epochCountMax)
        return list
    }

    /// Whether a revision was, or may be, given in this history. One before the oldest known epoch counts as none,
    /// unless that is the first.
    func hasRevision(_ revision: UInt64) -> Bool {
        guard let first = epochs.first else { return true }
        guard let index = epochs.lastIndex(where: { $0.revision <= revision }) else {
            return first.epoch == 1 && revision <= first.revisionBefore
        }
        return index + 1 == epochs.count || revision <= epochs[index + 1].revisionBefore
    }

    /// Whether a batch of an epoch belongs to this history: not if it was given after the next leader took over, or by
    /// one that left nothing in it.
    func hasSequence(_ sequence: UInt64, of epoch: UInt64) -> Bool {
        guard let next = epochs.first(where: { $0.epoch > epoch }) else { return true }
        let isKnown = epochs.contains { $0.epoch == epoch }
        return sequence <= next.sequence && (isKnown || next == epochs[0])
    }
}
