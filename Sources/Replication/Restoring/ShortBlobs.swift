package import BlobStore

/// Blobs without objects of their own: their bytes are in bases, and in the segments that brought them.
package enum ShortBlobs {
    /// Looks for the stored bytes of blobs in the newest base and the segments after it, then in the base before
    /// and the segments between, and so on. Reads all of that until everything is found: ask seldom, and for
    /// many at once.
    package static func find(
        _ blobs: [BlobReference], in storeID: StoreID, on bucket: some Bucket,
        _ found: (BlobReference, [UInt8]) throws -> Void
    ) throws {
        var wanted = Dictionary(blobs.map { ($0.number, $0) }) { first, _ in first }
        func take(_ number: UInt64, _ bytes: () -> [UInt8]) throws {
            guard let blob = wanted[number] else { return }
            let bytes = bytes()
            guard bytes.count == blob.storedByteCount else { return }
            wanted[number] = nil
            try found(blob, bytes)
        }
        var end = UInt64.max
        var damage: ReplicationError?
        for number in try BaseManifest.numbers(on: bucket).reversed() where !wanted.isEmpty {
            // What is damaged of one base, or after it, is left out: an older one may have the same.
            do { try look(number) } catch let error as ReplicationError {
                switch error {
                case .damaged, .tooOld: damage = damage ?? error
                default: throw error
                }
            }
            end = number
        }
        if !wanted.isEmpty, let damage { throw damage }
        func look(_ number: UInt64) throws {
            let manifest = try BaseManifest.read(number, on: bucket)
            if wanted.keys.contains(where: { $0 < manifest.nextBlobNumber }) {
                var parts = BaseReader(manifest)
                try BlobStore.forEachShortBlob { buffer, byteCountMax in
                    try parts.read(into: &buffer, byteCountMax: byteCountMax, on: bucket)
                } body: { number, bytes in
                    try take(number, bytes)
                }
            }
            var log = LogFollower(storeID: storeID, after: manifest.position)
            while !wanted.isEmpty,
                let segment = try log.next(on: bucket, looksForBase: true),
                segment.head.number <= end
            {
                for (batch, contents) in segment.items {
                    for (blob, bytes) in zip(batch.shippedBlobs, contents) {
                        try take(blob.number) { Array(bytes) }
                    }
                }
            }
        }
    }
}
