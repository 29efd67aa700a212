internal import Bytes

/// Recounts what each owner has, while the index is walked over: an owner's entries are next to each
/// other, those of the history before the usage.
struct OwnerRecount {
    /// Whose entries they are; nil: nobody's.
    private var owner: String?
    /// What the entries of the history say.
    var counted = OwnerUsage()
    /// What is stored.
    var stored: OwnerUsage?

    /// Goes on to the next entry, which is an owner's.
    mutating func begin(_ owner: String, _ report: inout VerifyReport) {
        if let own = self.owner, own.isSame(as: owner) { return }
        end(&report)
        self.owner = owner
    }

    /// The owner has no more entries.
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
