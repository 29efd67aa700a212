import BlobStore
import Logging
import Replication

struct ShardContext: Sendable {
    let writer: WriterThread
    let access: ShardAccess

    var store: BlobStore { writer.context.store }
    var replica: ReplicaStatus { writer.context.replica }
    var log: Logger { writer.context.log }
}

/// The threads of a daemon that belongs to a shard.
struct ShardThreads: Sendable {
    private let replica: ReplicaThread
    private let bucket: BucketMaintenanceThread
    private let fetches: FetchThreads
    private let eviction: EvictionThread?

    /// Starts them. `onDeposed` is called once when this daemon must be started again: another store leads, or this one must
    /// be rebuilt.
    init(
        _ context: ShardContext, onDeposed: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        replica = try ReplicaThread(context, onDeposed: onDeposed)
        bucket = try BucketMaintenanceThread(context)
        fetches = try FetchThreads(context)
        if let byteCountMax = context.replica.options.localByteCountMax {
            eviction = try EvictionThread(context, byteCountMax: byteCountMax)
        } else {
            eviction = nil
        }
    }

    /// Ends them. What is not done is done after the next start.
    func close() {
        replica.close()
        bucket.close()
        eviction?.close()
        fetches.close()
    }
}

extension BlobStore {
    /// Gives a backup the payloads that are in the bucket and not here, with one client of the bucket.
    func missingBlobs(_ access: ShardAccess, _ log: Logger) -> LongBlobSource {
        let id = id
        var bucket: (any Bucket)?
        return { blobs, put in
            for blob in blobs {
                let bytes: [UInt8]
                do {
                    let reached = try bucket ?? access.makeBucket()
                    bucket = reached
                    bytes = try LongBlobs.bytes(of: blob, in: id, on: reached)
                } catch {
                    log.error("Cannot fetch \(blob.digest) from \(access.name): \(error)")
                    throw StoreError.evicted(blob)
                }
                try put(blob, .bytes(bytes))
            }
        }
    }
}
