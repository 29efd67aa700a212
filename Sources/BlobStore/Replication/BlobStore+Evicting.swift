internal import Bytes
internal import Glibc
internal import LMDB
internal import Synchronization

// A store of a shard may lack the bytes of long blobs, which are in the bucket. Blobs are evicted in steps.

extension BlobStore {
    /// Blobs of several chunks that have some of them here, by their numbers, and the number to continue with.
    /// `byteCountMax`: of chunks; one blob is given however long it is.
    package func evictableBlobs(
        from number: UInt64, byteCountMax: Int, lookingAt countMax: Int
    ) throws(StoreError) -> (blobs: [EvictableBlob], next: UInt64?) {
        try core.snapshot().evictableBlobs(
            from: number, byteCountMax: byteCountMax, lookingAt: countMax)
    }

    /// Whether blobs are being evicted. Any thread may ask.
    package var isEvicting: Bool { core.evictions.run.withLock { $0 != nil } }

    /// Whether ``advanceEviction()`` would do something. Any thread may ask.
    package var canAdvanceEviction: Bool {
        guard let run = core.evictions.run.withLock({ $0 }) else { return false }
        guard let awaited = run.awaitedTransaction else { return true }
        return core.environment.readers.oldestViewed >= awaited
    }

    package var evictionCountEver: Int { core.evictions.countEver.load(ordering: .relaxed) }

    /// How many blobs may have chunks missing here. One lookup.
    package func evictedBlobs() throws(StoreError) -> (blobs: Int, bytes: Int) {
        let count = try core.snapshot().evictionCount()
        return (Int(clamping: count.blobs), Int(clamping: count.bytes))
    }

    /// Blobs that may have chunks missing here, at most so many. Where there are any, this walks over all blobs, in short
    /// snapshots. One that has given way to another is missed, and so is one whose entry is damaged.
    package func evictedBlobs(countMax: Int) throws(StoreError) -> [BlobReference] {
        guard try evictedBlobs().blobs > 0 else { return [] }
        var found: [BlobReference] = []
        var next: [UInt8]? = [UInt8](repeating: 0, count: Digest.byteCount)
        while let key = next, found.count < countMax {
            next = try core.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.walk(core.tables.blobs, from: key, countMax: 1_000) {
                    (cursor) throws(StoreError) in
                    guard let blob = try? cursor.blobEntry().blob, !blob.isShippedWithBatch,
                        try snapshot.state(of: blob.number, in: .inBucket) != nil
                    else { return true }
                    found.append(blob)
                    return found.count < countMax
                }
            }
        }
        return found
    }

    /// Begins to evict blobs whose objects are known to be in the bucket. From then on a reader that has no lease
    /// gets ``StoreError/evicted(_:)``. Those that are leased, yet to be shipped, damaged, in damaged pages or gone
    /// are left out, and for some minutes after a start those that an earlier run may have sent. Returns how many; 0
    /// also while others are.
    package func beginEvicting(
        _ blobs: [EvictableBlob], bootMilliseconds: Int64?
    ) throws(StoreError) -> Int {
        let evictions = core.evictions
        precondition(evictions.isEnabled, "the store was opened to evict nothing")
        guard evictions.run.withLock({ $0 == nil }) else { return 0 }
        let grace = core.leases.zeroCopyGrace.withLock { $0 }
        let wanted = blobs.filter { blob in
            blob.chunkCount <= StoreLimits.evictableChunkCountMax
                && !core.leases.isHeld(blob.number)
                && !core.quarantine.isIrremovable(blob.number)
                && grace?.isOver(for: blob.number, bootMilliseconds: bootMilliseconds) != false
        }
        guard !wanted.isEmpty else { return 0 }
        evictions.close(wanted) { blob in
            for index in 0..<blob.chunkCount {
                core.verifiedChunks.remove(blob.number &+ UInt64(index))
            }
        }
        var noted: [EvictableBlob] = []
        let transaction: UInt64
        do throws(StoreError) {
            (noted, transaction) = try pipeline.steppingOver(wanted, number: \.number) {
                (wanted) throws(StoreError) in
                try pipeline.change(
                    growth: evictionGrowth(wanted.count), isPublishing: false
                ) { (transaction) throws(StoreError) in
                    var noted: [EvictableBlob] = []
                    for blob in wanted where try transaction.noteEvicted(blob) {
                        noted.append(blob)
                    }
                    return (noted, transaction.transaction.id)
                }
            }
        } catch {
            evictions.open(wanted)
            throw error
        }
        let numbers = Set(noted.map(\.number))
        evictions.open(wanted.filter { !numbers.contains($0.number) })
        guard !noted.isEmpty else { return 0 }
        evictions.run.withLock {
            $0 = Evictions.Run(blobs: noted, stage: .closing(transaction: transaction))
        }
        return noted.count
    }

    private func evictionGrowth(_ count: Int) -> Int {
        (1 + count / 64) * core.environment.bookkeepingGrowth
    }

    /// Does the next step of an eviction. A blob in damaged pages stays here, with all of its chunks.
    package func advanceEviction() throws(StoreError) -> EvictionStep {
        let evictions = core.evictions
        guard var run = evictions.run.withLock({ $0 }) else { return .done }
        if let awaited = run.awaitedTransaction, core.environment.readers.oldestViewed < awaited {
            return .waits
        }
        switch run.stage {
        case .closing:
            let (removed, kept) = evictions.decide(run.blobs)
            run.blobs = removed
            run.stage = .removing(next: 0, transaction: 0)
            evictions.run.withLock { $0 = run }
            evictions.open(kept)
            try forgetEvicted(kept)
        case .removing(let next, let last):
            let rest = Array(run.blobs[next...])
            let (whole, count, transaction) = try pipeline.steppingOver(rest, number: \.number) {
                (blobs) throws(StoreError) in
                guard !blobs.isEmpty else { return (blobs, 0, last) }
                return try pipeline.change(
                    growth: evictionGrowth(blobs.count), isPublishing: false
                ) { (transaction) throws(StoreError) in
                    let count = try transaction.removeChunks(
                        of: blobs[...], countMax: StoreLimits.transactionPutCountMax / 2)
                    return (blobs, count, transaction.transaction.id)
                }
            }
            run.blobs.replaceSubrange(next..., with: whole)
            let isDone = next + count >= run.blobs.count
            run.stage =
                isDone
                ? .removed(transaction: transaction)
                : .removing(next: next + count, transaction: transaction)
            evictions.run.withLock { $0 = run }
            let damaged = rest.filter { core.quarantine.isIrremovable($0.number) }
            evictions.open(damaged)
            try forgetEvicted(damaged)
        case .removed:
            evictions.countEver.add(run.blobs.count, ordering: .relaxed)
            evictions.open(run.blobs)
            evictions.run.withLock { $0 = nil }
            return .done
        }
        return .continues
    }

    private func forgetEvicted(_ blobs: [EvictableBlob]) throws(StoreError) {
        guard !blobs.isEmpty else { return }
        try pipeline.change(growth: evictionGrowth(blobs.count), isPublishing: false) {
            (transaction) throws(StoreError) in
            for blob in blobs { try transaction.keepEvicted(blob) }
        }
    }
}

// Each step of putting back may be the last one of this process: the next attempt keeps what is whole.

extension BlobStore {
    /// Has a blob quarantined now that a reader has found damaged, so that ``putBack(_:_:bootMilliseconds:)`` mends it.
    package func quarantineIfDamaged(
        _ blob: BlobReference, asOf now: Timestamp
    ) throws(StoreError) {
        guard !core.quarantine.contains(blob.number),
            try core.snapshot().state(of: blob.number, in: .inBucket) == nil
        else { return }
        let (indices, hasDamaged) = try missingChunks(of: blob)
        guard hasDamaged else { return }
        core.quarantine.confirm(blob, chunkCount: indices.count)
        try quarantineFound(asOf: now)
    }

    /// Stores the bytes of an evicted or a damaged blob again, the last chunks first: a reader that finds the first
    /// chunk finds all of them. Chunks that are whole stay in their pages, which may be on their way to readers.
    package func putBack(
        _ blob: BlobReference, _ bytes: [UInt8], bootMilliseconds: Int64? = nil
    ) throws(StoreError) -> PutBackOutcome {
        precondition(bytes.count == blob.storedByteCount)
        if core.evictions.keep(blob.number) == false { return .later }
        let mayReplace = mayReplaceChunks(of: blob, bootMilliseconds)
        try pipeline.whileWriting { () throws(StoreError) in }
        var missing = try missingChunks(of: blob)
        if missing.hasDamaged, !mayReplace {
            try rewriteInPlace(blob, bytes, missing.indices)
            missing = try missingChunks(of: blob)
            if missing.hasDamaged { return .later }
        }
        var rest = missing.indices[...]
        let step = StoreLimits.stagedBatchByteCount / StoreLimits.chunkByteCountMax
        repeat {
            let indices = rest.suffix(step)
            rest = rest.dropLast(step)
            let isLast = rest.isEmpty
            let growth = core.environment.growth(ofChunks: indices.count)
            let isWanted = try pipeline.change(growth: growth, isPublishing: true) {
                (transaction) throws(StoreError) in
                try transaction.putBack(blob, bytes, indices, isLast: isLast)
            }
            guard isWanted else { return .gone }
        } while !rest.isEmpty
        core.forgetVerified(blob)
        core.quarantine.open(blob.number)
        return .stored
    }

    /// Writes the right bytes of damaged chunks into the pages that they have, while peers may still be reading
    /// those. What cannot be mended so, such as a checksum, stays damaged until the pages may be replaced.
    private func rewriteInPlace(
        _ blob: BlobReference, _ bytes: [UInt8], _ indices: [Int]
    ) throws(StoreError) {
        guard let file = core.environment.mappedFile else { return }
        let descriptor = core.environment.dataDescriptor
        // As the writer, so that the pages stay this blob's.
        try pipeline.whileWriting { () throws(StoreError) in
            try core.withSnapshot { (snapshot) throws(StoreError) in
                let reader = ChunkReader(snapshot)
                for index in indices {
                    do throws(StoreError) {
                        try reader.rewrite(of: blob, at: index, from: bytes, descriptor, in: file)
                    } catch {
                        // One that is not here at all is put back later.
                        if case .io = error { throw error }
                    }
                }
            }
            guard fdatasync(descriptor) == 0 else {
                throw .outcomeUnknown(
                    "fdatasync \(DataFile.name): \(StoreError.system("fdatasync"))")
            }
        }
    }

    /// The chunks of a blob that are not here, or not as they were stored, and whether any of them is here.
    private func missingChunks(
        of blob: BlobReference
    ) throws(StoreError) -> (indices: [Int], hasDamaged: Bool) {
        // What is in memory may be right while the disk has lost it.
        let disk =
            core.quarantine.contains(blob.number)
            ? DiskReader("\(core.directory)/\(DataFile.name)") : nil
        var (indices, hasDamaged): ([Int], Bool) = ([], false)
        for index in 0..<blob.chunkCount {
            try core.withSnapshot { (snapshot) throws(StoreError) in
                let key = Keys.chunk(blob.number, index)
                guard try snapshot.get(key.bytes, in: core.tables.chunks) != nil else {
                    return indices.append(index)
                }
                do throws(StoreError) {
                    let reader = ChunkReader(snapshot)
                    _ = try reader.checkedChunk(of: blob, at: index)
                    try reader.checkOnDisk(
                        of: blob, at: index, disk, in: core.environment.mappedFile)
                } catch {
                    switch error {
                    case .corrupt, .evicted:
                        indices.append(index)
                        hasDamaged = true
                    default: throw error
                    }
                }
            }
        }
        return (indices, hasDamaged)
    }

    /// Whether nobody can be reading the pages of a blob that is not sent any more.
    private func mayReplaceChunks(of blob: BlobReference, _ bootMilliseconds: Int64?) -> Bool {
        let noted = core.quarantine.entry(blob.number)?.transaction ?? 0
        return core.environment.readers.oldestViewed >= noted && !core.leases.isHeld(blob.number)
            && core.leases.zeroCopyGrace.withLock { $0 }?.isOver(
                for: blob.number, bootMilliseconds: bootMilliseconds) != false
    }
}

extension ChangeTransaction {
    /// Stores some chunks of an evicted or a damaged blob; with the last of them it is here and whole. Returns
    /// false when it is neither, or has gone.
    fileprivate mutating func putBack(
        _ blob: BlobReference, _ bytes: [UInt8], _ indices: ArraySlice<Int>, isLast: Bool
    ) throws(StoreError) -> Bool {
        guard let old = try state(of: blob.number),
            old.state == .inBucket || old.state == .damaged
        else { return false }
        for index in indices {
            try transaction.putChunk(of: blob, at: index, bytes, in: tables.chunks)
        }
        if isLast { try move(blob.number, from: old, to: nil) }
        return true
    }
}
