package import BlobProtocol
import Synchronization

/// A reload replaces the limits; a worker takes them over at the start of an iteration.
final class LiveLimits: Sendable {
    private let current: Mutex<DaemonLimits>
    /// How often they were replaced: one load tells a worker that they are those that it has.
    private let generation = Atomic<Int>(0)

    init(_ limits: DaemonLimits) { current = Mutex(limits) }

    var now: DaemonLimits { current.withLock { $0 } }

    func replace(by limits: DaemonLimits) {
        current.withLock { $0 = limits }
        generation.add(1, ordering: .releasing)
    }

    /// The limits, unless they are those of the generation that is `known`: one load then.
    @inline(__always)
    func takeNew(_ known: inout Int) -> DaemonLimits? {
        let newest = generation.load(ordering: .acquiring)
        guard newest != known else { return nil }
        known = newest
        return now
    }
}

package final class LinkKeys: Sendable {
    struct Version {
        /// Nil: no link is valid.
        var keys: SigningKeys?
        var number: UInt64 = 0
    }

    private let current: Mutex<Version>

    package init(_ keys: SigningKeys?) { current = Mutex(Version(keys: keys)) }

    var version: Version { current.withLock { $0 } }

    package var keys: SigningKeys? { version.keys }

    /// Replaces them. A wait or a stream by a link is checked again.
    package func replace(by keys: SigningKeys?) {
        current.withLock { $0 = Version(keys: keys, number: $0.number + 1) }
    }
}

/// What reading the configuration again has found. All of it is within its bounds.
package struct Reload {
    /// What holds from now on. What a running daemon cannot change is in it as it was.
    package var options: DaemonOptions
    /// What is different, one line for each setting: `max-payload: 64MiB, was 32MiB`.
    package var changes: [String]
    /// What is different and needs a restart, in the same way.
    package var pendingRestart: [String]

    package init(options: DaemonOptions, changes: [String], pendingRestart: [String]) {
        self.options = options
        self.changes = changes
        self.pendingRestart = pendingRestart
    }

    /// Reads the configuration again, given what the daemon runs with. Throws what is wrong with it, in words.
    package typealias Read = (DaemonOptions) throws -> Reload
}
