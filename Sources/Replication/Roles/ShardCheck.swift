internal import BlobStore

/// What is found out of a bucket before anything is written to it.
enum ShardCheck {
    /// Throws unless the bucket has the shard of this store, and its server keeps conditional creates. Once a
    /// process.
    static func run(_ store: BlobStore, _ host: any ShardHost, on bucket: any Bucket) throws {
        guard !host.isShardChecked else { return }
        guard try hasShard(of: store, host, on: bucket) else {
            throw ReplicaFailure(
                description:
                    "\(host.settings.shardName) has no shard, and \(store.directory) belongs to one: give the prefix that it had"
            )
        }
        try host.requireConditionalCreates()
        host.noteShardChecked()
    }

    /// Whether the prefix has the shard of this store; false where it has none.
    ///
    /// - Throws: where it has another one.
    static func hasShard(
        of store: BlobStore, _ host: any ShardHost, on bucket: any Bucket
    ) throws -> Bool {
        let found: StoreDocument
        do throws(ReplicationError) { found = try StoreDocument.read(on: bucket) } catch {
            if case .noShard = error { return false }
            throw error
        }
        guard found.storeID != store.id.description else { return true }
        let newest = try Epochs.newest(on: bucket)
        let leader = newest.map { ", led by \($0.document.host)" } ?? ""
        throw ReplicaFailure(
            description:
                "\(host.settings.shardName) has the store \(found.storeID)\(leader), and \(store.directory) is \(store.id): to follow it give --follow and an empty --data; else use another prefix"
        )
    }
}
