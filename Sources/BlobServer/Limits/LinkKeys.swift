package import BlobProtocol
import Synchronization

/// The keys that verify devices' links. A reload replaces them.
package final class LinkKeys: Sendable {
    /// The keys, and how often they have been replaced.
    struct Version {
        /// Nil: no link is valid.
        var keys: SigningKeys?
        var number: UInt64 = 0
    }

    private let current: Mutex<Version>

    package init(_ keys: SigningKeys?) { current = Mutex(Version(keys: keys)) }

    var version: Version { current.withLock { $0 } }

    /// Nil: no link is valid.
    package var keys: SigningKeys? { version.keys }

    /// Replaces them. A wait or a stream by a link is checked again.
    package func replace(by keys: SigningKeys?) {
        current.withLock { $0 = Version(keys: keys, number: $0.number + 1) }
    }
}
