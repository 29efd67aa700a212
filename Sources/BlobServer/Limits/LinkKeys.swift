package import BlobProtocol
import Synchronization

/// The keys that verify devices' links. A reload replaces them.
package final class LinkKeys: Sendable {
    private let current: Mutex<SigningKeys?>

    package init(_ keys: SigningKeys?) { current = Mutex(keys) }

    /// Nil: no link is valid.
    package var keys: SigningKeys? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
