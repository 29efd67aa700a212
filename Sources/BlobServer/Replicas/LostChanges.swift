import BlobStore
import Logging
import Replication

/// What a leader did and did not ship before another store took the lead: saved to files, and not merged.
enum LostChanges {
    /// Saves what waits to be shipped, in the form of segments and objects, below
    /// `DIR/unreplicated-epoch-N/`.
    ///
    /// - Returns: false when nothing waits.
    static func save(_ store: BlobStore, to directory: String, _ log: Logger) throws -> Bool {
        guard let state = store.replicationState, store.lastSequence > state.sequence else {
            return false
        }
        let folder = "\(directory)/unreplicated-epoch-\(state.epoch)"
        var files = try LostFiles(folder)
        var position = state.position
        var last = state.sequence
        while true {
            let batches = try store.outbox(
                after: last, byteCountMax: ReplicationLimits.segmentByteCount
            ).map { leavingOutLost($0, store, log) }
            guard let end = batches.last else { break }
            for blob in LongBlobs.of(batches) {
                let object = LongBlobs.object(
                    of: blob, try store.storedBytes(of: blob), storeID: store.id)
                try files.write(ShardNames.blob(blob.number), object)
            }
            let items = try Segment.items(of: batches) { try store.storedBytes(of: $0) }
            let segment = Segment(
                Segment.Head(
                    kind: .batches, storeID: store.id, epoch: state.epoch, nonce: state.nonce,
                    behind: position, sequence: end.sequence, time: .now), items)
            try files.write(ShardNames.log(segment.head.number), segment.bytes)
            position = segment.position
            last = end.sequence
        }
        try files.finish()
        log.critical(
            "\(last - state.sequence) batches of changes were acknowledged here and not replicated: they are saved in \(folder), and not in the shard"
        )
        return true
    }

    /// The batch without the bytes that cannot be read: the rest is saved all the same.
    private static func leavingOutLost(
        _ batch: ReplicatedBatch, _ store: BlobStore, _ log: Logger
    ) -> ReplicatedBatch {
        var batch = batch
        for blob in batch.shippedBlobs + batch.longBlobs {
            do {
                _ = try store.storedBytes(of: blob)
            } catch {
                log.error("\(blob.digest) is not among the saved changes: \(error)")
                batch = batch.marking(absent: blob.number) ?? batch
            }
        }
        return batch
    }
}
