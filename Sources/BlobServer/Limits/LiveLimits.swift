package import BlobProtocol
import Synchronization

/// A reload replaces the limits. Each worker takes them over at the start of an iteration.
final class LiveLimits: Sendable {
    private let current: Mutex<DaemonLimits>
    /// Counts replacements, so that one load tells a worker that nothing has changed.
    private let generation = Atomic<Int>(0)

    init(_ limits: DaemonLimits) { current = Mutex(limits) }

    var now: DaemonLimits { current.withLock { $0 } }

    func replace(by limits: DaemonLimits) {
        current.withLock { $0 = limits }
        generation.add(1, ordering: .releasing)
    }

    /// The limits; nil, at the cost of one load, if they are of the generation `known`.
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
        /// nil: no link is valid.
        var keys: SigningKeys?
        var number: UInt64 = 0
    }

    private let current: Mutex<Version>

    package init(_ keys: SigningKeys?) { current = Mutex(Version(keys: keys)) }

    var version: Version { current.withLock { $0 } }

    package var keys: SigningKeys? { version.keys }

    /// Replaces the keys. Waits and streams that use a link are checked again.
    package func replace(by keys: SigningKeys?) {
        current.withLock { $0 = Version(keys: keys, number: $0.number + 1) }
    }
}

/// The result of reading the configuration again. All values are within their bounds.
package struct Reload {
    /// The new options. Those that a running daemon cannot change keep their values.
    package var options: DaemonOptions
    /// The differences, one line per setting: `max-payload: 64MiB, was 32MiB`.
    package var changes: [String]
    /// The differences that need a restart, in the same form.
    package var pendingRestart: [String]

    package init(options: DaemonOptions, changes: [String], pendingRestart: [String]) {
        self.options = options
        self.changes = changes
        self.pendingRestart = pendingRestart
    }

    /// Reads the configuration again, given the current options. Throws errors in words.
    package typealias Read = (DaemonOptions) throws -> Reload
}
