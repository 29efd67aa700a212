internal import Glibc
internal import LMDB
internal import Synchronization

// The bytes of a blob that is evicted or damaged are put back from the bucket, or from wherever somebody has
// them. Each step may be the last one of this process: the next attempt keeps what is there and whole.

extension BlobStore {
    /// Stores the bytes of an evicted or a damaged blob again, the last chunks first: a reader that finds the
    /// first chunk of an evicted blob finds all of them. Chunks that are here and whole stay in their pages,
    /// which may be on their way to readers. Can be repeated however far it went before.
    ///
    /// - Parameters:
    ///   - bytes: as stored, and checked.
    ///   - bootMilliseconds: the boot clock's present, for what peers of earlier runs may be reading.
    /// - Throws: ``StoreError/full``.
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

    /// Writes the right bytes of damaged chunks into the pages that they have, since peers may still be reading those:
    /// after a start for as long as the peers of the run before may. What cannot be mended so, such as a damaged
    /// checksum, stays damaged until the pages may be replaced.
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

    /// Whether nobody can be reading the pages of a blob that is not sent any more: nobody has a lease, no
    /// view is open that may take one, and no peer of an earlier run has them.
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
