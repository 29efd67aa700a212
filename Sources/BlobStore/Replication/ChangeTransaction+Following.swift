internal import Bytes
internal import LMDB

// What belongs to one host is a follower's own: when pages may be used again, and the counters of orphans.

extension ChangeTransaction {
    /// Does again what a batch did. `contents`: stored bytes of the blobs shipped with it. Other blobs are staged.
    mutating func apply(
        _ batch: ReplicatedBatch, _ contents: [ArraySlice<UInt8>], longBlobs: [UInt64: LongBlob]
    ) throws(StoreError) {
        now = batch.time
        var next = 0
        for blob in batch.blobs {
            if batch.absent.contains(blob.number) {
                try store(blob, .missing)
            } else if blob.isShippedWithBatch {
                guard next < contents.count, contents[next].count == blob.storedByteCount else {
                    throw .corrupt("the batch \(batch.sequence) lacks the bytes of \(blob.digest)")
                }
                try putChunks(of: blob, Array(contents[next]))
                next += 1
            } else {
                try store(blob, longBlobs[blob.number])
            }
        }
        var reader = OperationReader(batch.operations)
        while let operation = reader.next() { try apply(operation, batch) }
        guard reader.isAtEnd else {
            throw .corrupt("the batch \(batch.sequence) ends inside an operation")
        }
    }

    /// Stores a long blob, of which an earlier attempt may have staged some chunks.
    private mutating func store(
        _ blob: BlobReference, _ content: LongBlob?
    ) throws(StoreError) {
        let old = try state(of: blob.number)
        switch content {
        case .bytes(let bytes)?:
            try putChunks(of: blob, bytes)
            try move(blob.number, from: old, to: nil)
        case .evicted?:
            // Who finds the first chunk of an evicted blob finds all of them.
            if old != nil {
                _ = try removeChunks(of: blob.number, storedByteCount: blob.storedByteCount)
            }
            try move(
                blob.number, from: old, to: BlobStateEntry(inBucket: blob.storedByteCount))
        case .missing?:
            // Before it can be found: nothing of it is sent.
            quarantine.close(
                DamagedBlob(number: blob.number, digest: blob.digest, foundAt: now))
            try move(
                blob.number, from: old, to: BlobStateEntry(damaged: blob, foundAt: now))
        case nil: try adopt(blob.number)
        }
    }

    private mutating func apply(
        _ operation: borrowing OperationReader.Operation, _ batch: ReplicatedBatch
    ) throws(StoreError) {
        let (key, value) = (operation.key, operation.value)
        switch UInt8(operation.table) {
        case tables.notifications.number, tables.blobs.number:
            try change(operation, in: Int(operation.table))
        case tables.index.number:
            try change(operation, in: Int(operation.table))
            if key.byte(0) == IndexKeys.quarantinePrefix { quarantine.noteGivenWay() }
            guard key.byte(0) == IndexKeys.ownersPrefix,
                case .sequence(let owner, _) = try OwnerKey(key)
            else { return }
            touch(owner)
        case tables.orphans.number:
            guard operation.isPut, let (_, number) = Keys.state(key) else {
                throw unknown(batch)
            }
            let entry = try BlobStateEntry(value, number: number)
            try addReleased(
                BlobReference(
                    digest: entry.digest, number: number, byteCount: Int(entry.storedByteCount),
                    storedByteCount: Int(entry.storedByteCount), coding: .identity))
        case tables.meta.number where key.equals(Counters.name.utf8.span.bytes):
            var counted = try Counters(value)
            counted.orphanBlobs = counters.orphanBlobs
            counted.orphanBytes = counters.orphanBytes
            counters = counted
        case tables.meta.number where key.equals(EpochList.name.utf8.span.bytes):
            try change(operation, in: Int(operation.table))
        default: throw unknown(batch)
        }
    }

    private func unknown(_ batch: ReplicatedBatch) -> StoreError {
        .corrupt("the batch \(batch.sequence) has an operation that no leader ships")
    }

    private mutating func change(
        _ operation: borrowing OperationReader.Operation, in index: Int
    ) throws(StoreError) {
        try transaction.redo(operation, in: tables.all[index])
    }

    private mutating func putChunks(
        of blob: BlobReference, _ bytes: [UInt8]
    ) throws(StoreError) {
        for index in 0..<ChunkLayout.count(of: blob.storedByteCount) {
            try transaction.putChunk(of: blob, at: index, bytes, in: tables.chunks)
        }
    }
}
