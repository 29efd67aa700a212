import BlobStore
import Logging
import Replication

/// Gives backups the payloads that are in the bucket and not here.
enum BackupSource {
    /// Makes the source of one backup, which uses one client of the bucket.
    static func make(_ store: BlobStore, _ access: ShardAccess, _ log: Logger) -> LongBlobSource {
        let id = store.id
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
