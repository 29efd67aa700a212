package import BlobStore

/// Runs changes of a store on the thread that makes them all.
package protocol StoreWriter: AnyObject, Sendable {
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Value
    ) throws(StoreError) -> Value
}

/// Runs changes where they are asked for: of a store that one thread has.
package final class DirectWriter: StoreWriter {
    private let store: BlobStore

    package init(_ store: BlobStore) { self.store = store }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Value
    ) throws(StoreError) -> Value { try body(store) }
}
