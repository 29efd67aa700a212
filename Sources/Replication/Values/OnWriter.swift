package import BlobStore
internal import Synchronization

/// Runs a change of the store on the thread that makes them all, and returns when it is done.
package typealias OnWriter =
    @Sendable (
        @escaping @Sendable (BlobStore) throws(StoreError) -> Void
    ) throws(StoreError) -> Void

/// A nonce that the thread of all changes says.
final class ChosenNonce: Sendable {
    private let chosen: Mutex<Nonce>
    init(_ nonce: Nonce) { chosen = Mutex(nonce) }

    var value: Nonce {
        get { chosen.withLock { $0 } }
        set { chosen.withLock { $0 = newValue } }
    }
}
