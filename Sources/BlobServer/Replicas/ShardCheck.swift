import BlobStore
import Replication

/// What is found out of a bucket before anything is written to it.
enum ShardCheck {
    /// Throws unless the bucket has the shard of this store, and its server keeps conditional creates.
    static func run(_ store: BlobStore, _ access: ShardAccess, on bucket: any Bucket) throws {
        guard !access.isChecked else { return }
        let found = try StoreDocument.read(on: bucket)
        guard found.storeID == store.id.description else {
            let newest = try Epochs.newest(on: bucket)
            let leader = newest.map { ", led by \($0.document.host)" } ?? ""
            throw ReplicaFailure(
                description:
                    "\(access.name) has the store \(found.storeID)\(leader), and \(store.directory) is \(store.id): to follow it give --follow and an empty --data; else use another prefix"
            )
        }
        try access.probe()
        access.noteChecked()
    }
}
