internal import BlobStore

/// Which long blobs a leader knows to be in the bucket: it has uploaded or read their objects in the last minutes.
struct SeenBlobs {
    private var times: [UInt64: Timestamp] = [:]

    mutating func note(_ blobs: [BlobReference], asOf now: Timestamp) {
        if times.count >= ReplicationLimits.seenBlobCountMax {
            times = times.filter { Self.isRecent($0.value, asOf: now) }
        }
        // To see them again costs a request each.
        if times.count >= ReplicationLimits.seenBlobCountMax { times = [:] }
        for blob in blobs { times[blob.number] = now }
    }

    private static func isRecent(_ time: Timestamp, asOf now: Timestamp) -> Bool {
        // A clock may have been set back.
        (now.milliseconds - time.milliseconds).magnitude < ReplicationLimits.seenBlobMilliseconds
    }

    /// Some batches, and the blobs that they use again and that have to be looked for: at most as many bytes as a
    /// segment may have, so that signs of life are not late. The first batch is among them whatever it uses.
    func split(
        _ batches: [ReplicatedBatch], of store: BlobStore, asOf now: Timestamp
    ) throws -> (batches: [ReplicatedBatch], usedAgain: [BlobReference]) {
        var usedAgain: [BlobReference] = []
        var known: Set<UInt64> = []
        var byteCount = 0
        for (index, batch) in batches.enumerated() {
            let blobs = try store.longBlobs(usedAgainBy: batch) { number in
                !known.contains(number)
                    && times[number].map { Self.isRecent($0, asOf: now) } != true
            }
            byteCount += blobs.reduce(0) { $0 + $1.storedByteCount }
            if index > 0, byteCount > ReplicationLimits.segmentByteCount {
                return (Array(batches[..<index]), usedAgain)
            }
            usedAgain += blobs
            known.formUnion((batch.longBlobs + blobs).map(\.number))
        }
        return (batches, usedAgain)
    }
}
