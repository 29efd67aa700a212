internal import Bytes
internal import LMDB

// What this host has of blobs' bytes: one state for each blob, changed here and nowhere else. Staging,
// adopting, evicting, fetching back, freeing, scrubbing and following all use `move`.

extension ChangeTransaction {
    /// What is noted of a blob; nil: it is here and whole, or is not there at all. Up to three lookups.
    borrowing func state(of number: UInt64) throws(StoreError) -> BlobStateEntry? {
        for queue in StateQueue.allCases {
            if let entry = try state(of: number, in: queue) { return entry }
        }
        return nil
    }

    /// Like ``state(of:)``, for a blob that has been stored and not released. Costs a load where nothing is
    /// damaged and the bucket has nothing that is not here.
    borrowing func state(ofLive blob: BlobReference) throws(StoreError) -> BlobStateEntry? {
        if !quarantine.isEmpty, let entry = try state(of: blob.number, in: .damaged) {
            return entry
        }
        guard isReplicated, !blob.isShippedWithBatch else { return nil }
        return try state(of: blob.number, in: .inBucket)
    }

    /// Changes the state of a blob, and counts it.
    ///
    /// - Parameters:
    ///   - old: what ``state(of:)`` says.
    ///   - new: nil: it is here and whole from now on, or its last chunk is gone.
    /// - Throws: ``StoreError/corrupt(_:)`` when no blob changes so.
    mutating func move(
        _ number: UInt64, from old: BlobStateEntry?, to new: BlobStateEntry?
    ) throws(StoreError) {
        guard BlobStateEntry.State.allows(old?.state, new?.state) else {
            throw .corrupt(
                "blob \(number) is \(old?.state as Any), and cannot become \(new?.state as Any)")
        }
        if let old {
            if new?.state.queue != old.state.queue {
                let key = Keys.state(number, old.state.queue)
                try transaction.remove(key.span.bytes, in: tables.orphans)
            }
            try count(old, -1)
        }
        if let new {
            let key = Keys.state(number, new.state.queue)
            let value = new.words(number: number)
            try transaction.set(key.span.bytes, to: value.span.bytes, in: tables.orphans)
            try count(new, 1)
        }
    }

    private mutating func count(_ entry: BlobStateEntry, _ sign: Int) throws(StoreError) {
        let byteCount = sign * Int(entry.storedByteCount)
        switch entry.state.queue {
        case .toBeFreed:
            counters.orphanBlobs = try counters.orphanBlobs.changed(by: sign, "orphans")
            counters.orphanBytes = try counters.orphanBytes.changed(
                by: byteCount, "orphan bytes")
        case .inBucket:
            var count = try evictionCount()
            count.blobs = try count.blobs.changed(by: sign, "evicted blobs")
            count.bytes = try count.bytes.changed(by: byteCount, "evicted bytes")
            try set(count)
        case .damaged: break
        }
    }
}
