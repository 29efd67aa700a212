package import BlobStore
internal import Bytes
internal import Hashing

/// Puts a base of a leader's store into the bucket.
package struct BaseWriter {
    private let store: BlobStore

    package init(_ store: BlobStore) { self.store = store }

    /// Uploads all parts of a base. It counts only with its manifest: ``finish(_:on:)``.
    ///
    /// - Parameters:
    ///   - position: a segment that is in the log.
    ///   - epoch: the one in which this store leads.
    ///   - uploadsAllBlobs: whether long blobs are uploaded, too: of a store that was not replicated before
    ///     they are not in the bucket. Those of later batches are.
    package func upload(
        behind position: LogPosition, of epoch: UInt64, uploadsAllBlobs: Bool, asOf now: Timestamp,
        on bucket: some Bucket
    ) throws -> BaseManifest {
        var parts: [BaseManifest.Part] = []
        var part: [UInt8] = []
        func send() throws(BucketError) {
            guard !part.isEmpty else { return }
            let hash = SHA256.digest(of: part.span.bytes)
            try bucket.put(ShardNames.part(parts.count, ofBase: position.number), part)
            parts.append(BaseManifest.Part(byteCount: part.count, digest: Digest(hash)))
            part.removeAll(keepingCapacity: true)
        }
        let sequence = try store.writeBase(asOf: now) { bytes in
            part.append(contentsOf: bytes)
            if part.count >= ReplicationLimits.partByteCount { try send() }
        }
        try send()
        if uploadsAllBlobs {
            try store.forEachLongBlob { blob in
                let bytes = try store.storedBytes(of: blob)
                try bucket.put(
                    ShardNames.blob(blob.number), BlobObject.bytes(blob, bytes, store.id))
            }
        }
        return BaseManifest(
            storeID: store.id.description, epoch: epoch, position: position, sequence: sequence,
            time: now, parts: parts)
    }

    /// Makes a base count. All that it has must be in the log: ``BlobStore/BlobStore/shippedSequence``.
    package func finish(
        _ manifest: BaseManifest, on bucket: some Bucket
    ) throws(ReplicationError) {
        try onBucket { () throws(BucketError) in
            try bucket.put(ShardNames.manifest(manifest.position.number), manifest.bytes)
        }
    }
}
