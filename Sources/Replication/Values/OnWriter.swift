package import BlobStore

/// Runs a change of the store on the thread that makes them all, and returns when it is done.
package typealias OnWriter =
    @Sendable (
        @escaping @Sendable (BlobStore) throws(StoreError) -> Void
    ) throws(StoreError) -> Void
