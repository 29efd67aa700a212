internal import Bytes
internal import LMDB
internal import Synchronization

// A store of a shard may have fewer bytes than it has payloads: those of long blobs are in the bucket. Blobs are
// evicted some at a time, in steps between which the thread that writes does other things.

extension BlobStore {
    /// Blobs of several chunks that have some of them here, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - number: the first number to look at.
    ///   - byteCountMax: of chunks; one blob is given however long it is.
    ///   - countMax: chunks that are looked at.
    /// - Returns: the blobs, and the number to continue with; nil: there are no more.
    package func evictableBlobs(
        from number: UInt64, byteCountMax: Int, lookingAt countMax: Int
    ) throws(StoreError) -> (blobs: [EvictableBlob], next: UInt64?) {
        try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.evictableBlobs(
                from: number, byteCountMax: byteCountMax, lookingAt: countMax)
        }
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
    package func evictedBlobs() throws(StoreError) -> EvictedBlobs {
        let count = try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.evictionCount()
        }
        return EvictedBlobs(blobs: Int(clamping: count.blobs), bytes: Int(clamping: count.bytes))
    }

    /// Begins to evict blobs whose objects are known to be in the bucket. From then on a reader that has no
    /// lease gets ``StoreError/evicted(_:)``. Those that are leased, yet to be shipped, damaged or gone are
    /// left out, and for some minutes after a start those that an earlier run may have sent. One transaction.
    ///
    /// - Parameters:
    ///   - blobs: which.
    ///   - bootMilliseconds: the boot clock's present.
    /// - Returns: how many are being evicted; 0 also while others are.
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
            (noted, transaction) = try pipeline.change(
                growth: evictionGrowth(wanted.count), isPublishing: false
            ) { (transaction) throws(StoreError) in
                var noted: [EvictableBlob] = []
                for blob in wanted where try transaction.noteEvicted(blob) { noted.append(blob) }
                return (noted, transaction.transaction.id)
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
            run.stage = .removing(next: 0)
            evictions.run.withLock { $0 = run }
            evictions.open(kept)
            try forgetEvicted(kept)
        case .removing(let next):
            let rest = run.blobs[next...]
            let (count, transaction) = try pipeline.change(
                growth: evictionGrowth(rest.count), isPublishing: false
            ) { (transaction) throws(StoreError) in
                let count = try transaction.removeChunks(
                    of: rest, countMax: StoreLimits.transactionPutCountMax / 2)
                return (count, transaction.transaction.id)
            }
            let isDone = next + count >= run.blobs.count
            run.stage =
                isDone ? .removed(transaction: transaction) : .removing(next: next + count)
            evictions.run.withLock { $0 = run }
        case .removed:
            evictions.countEver.add(run.blobs.count, ordering: .relaxed)
            evictions.open(run.blobs)
            evictions.run.withLock { $0 = nil }
            return .done
        }
        return .goesOn
    }

    private func forgetEvicted(_ blobs: [EvictableBlob]) throws(StoreError) {
        guard !blobs.isEmpty else { return }
        try pipeline.change(growth: evictionGrowth(blobs.count), isPublishing: false) {
            (transaction) throws(StoreError) in
            for blob in blobs { try transaction.keepEvicted(blob) }
        }
    }
}
