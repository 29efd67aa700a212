import Synchronization

/// Which editions a reader may be given: what the daemon has acknowledged, and what it has been
/// asked for.
final class EditionLedger: Sendable {
    private struct Entry: Sendable {
        var acknowledged = 0
        var issued = 0
        /// The newest that any reader was given.
        var seen = 0
    }

    /// The seed of every edition.
    let seed: UInt64
    /// Notifications there are.
    let idCount: Int
    /// Whether readers ask a follower, which comes after what is acknowledged, and never goes back.
    let isBehind: Bool
    private let entries: Mutex<[Entry]>

    init(seed: UInt64, idCount: Int, isBehind: Bool = false) {
        self.seed = seed
        self.idCount = idCount
        self.isBehind = isBehind
        entries = Mutex(Array(repeating: Entry(), count: idCount))
    }

    /// The next edition of a notification, which is about to be sent. Only the one publisher whose
    /// notification it is may ask.
    func issue(_ id: Int) -> Edition {
        let number = entries.withLock { entries in
            entries[id].issued += 1
            return entries[id].issued
        }
        return Edition(seed: seed, id: id, number: number)
    }

    /// The daemon has answered for an edition.
    func acknowledge(_ edition: Edition) {
        entries.withLock { $0[edition.id].acknowledged = edition.number }
    }

    /// The edition that the daemon has acknowledged last: an answer to a request from now on has this or
    /// a later one.
    func acknowledged(_ id: Int) -> Int { entries.withLock { $0[id].acknowledged } }

    /// A reader was given an edition.
    func noteSeen(_ edition: Edition) {
        entries.withLock { $0[edition.id].seen = max($0[edition.id].seen, edition.number) }
    }

    /// The oldest edition that a request from now on may be answered with.
    func oldest(_ id: Int) -> Int {
        entries.withLock { isBehind ? $0[id].seen : $0[id].acknowledged }
    }

    /// The editions an answer may have, when it was asked for at a time when `oldest` was the last
    /// that was acknowledged.
    func allowed(_ id: Int, since oldest: Int) -> ClosedRange<Int> {
        let newest = entries.withLock { $0[id].issued }
        return oldest...max(oldest, newest)
    }

    /// Whether one of these editions may have been no notification at all.
    func mayBeAbsent(_ id: Int, _ editions: ClosedRange<Int>) -> Bool {
        editions.contains { number in
            number == 0 || Edition(seed: seed, id: id, number: number).mayBeAbsent
        }
    }
}
