import Synchronization

/// Which of several daemons, killed one after the other, is at work.
final class DaemonLives: Sendable {
    /// Odd from before a kill until the next daemon serves.
    private let changes = Atomic<Int>(0)

    /// To be remembered before connecting.
    var now: Int { changes.load(ordering: .sequentiallyConsistent) }

    /// Whether a connection made after `then` was remembered must still be there.
    func isSame(as then: Int) -> Bool { then.isMultiple(of: 2) && now == then }

    /// A daemon is about to be killed.
    func willEnd() { changes.add(1, ordering: .sequentiallyConsistent) }

    /// The next one serves.
    func hasBegun() { changes.add(1, ordering: .sequentiallyConsistent) }
}
