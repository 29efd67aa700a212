import Synchronization

/// Which of several daemons, killed one after the other, is at work, and how patient it is.
final class DaemonLives: Sendable {
    /// A daemon, as a connection remembers it.
    struct Life: Sendable, Equatable {
        /// Odd from before a kill until the next daemon serves.
        fileprivate(set) var changeCount = 0
        /// Whether it cuts off who is slow.
        fileprivate(set) var cutsOffSlow: Bool
    }

    private let life: Mutex<Life>
    /// When each daemon was told to end, in milliseconds.
    private let ends = Mutex<[Int]>([])

    init(cutsOffSlow: Bool) { life = Mutex(Life(cutsOffSlow: cutsOffSlow)) }

    /// To be remembered before connecting.
    var now: Life { life.withLock { $0 } }

    /// Whether a connection made after `then` was remembered must still be with a running daemon.
    func isSame(as then: Life) -> Bool { then.changeCount.isMultiple(of: 2) && now == then }

    /// How long ago the daemon of a connection made after `then` was told to end, in milliseconds;
    /// nil: it was not.
    func millisecondsSinceEnd(of then: Life) -> Int? {
        ends.withLock { ends in
            let number = then.changeCount / 2
            return number < ends.count ? Clock.milliseconds() - ends[number] : nil
        }
    }

    /// A daemon is about to be killed.
    func willEnd() {
        ends.withLock { $0.append(Clock.milliseconds()) }
        life.withLock { $0.changeCount += 1 }
    }

    /// The next one serves.
    func hasBegun(cutsOffSlow: Bool) {
        life.withLock {
            $0.changeCount += 1
            $0.cutsOffSlow = cutsOffSlow
        }
    }
}
