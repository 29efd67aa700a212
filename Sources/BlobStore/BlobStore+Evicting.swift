internal import Bytes
internal import LMDB
internal import Synchronization

// A store of a shard may have fewer bytes than it has payloads: those of long blobs are in the bucket. All
// changes are made on the thread that writes.

extension BlobStore {
    /// Blobs of several chunks that have some of them here, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - number: the first number to look at.
    ///   - byteCountMax: of chunks; one blob is given however long it is.
    ///   - countMax: chunks that are looked at.
    /// - Returns: the blobs, and the number to go on with; nil: there are no more.
    package func evictableBlobs(
        from number: UInt64, byteCountMax: Int, lookingAt countMax: Int
    ) throws(StoreError) -> (blobs: [EvictableBlob], next: UInt64?) {
        try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.evictableBlobs(
                from: number, byteCountMax: byteCountMax, lookingAt: countMax)
        }
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
        try pipeline.beginEvicting(blobs, bootMilliseconds: bootMilliseconds)
    }

    /// Whether blobs are being evicted. Any thread may ask.
    package var isEvicting: Bool { core.evictions.run.withLock { $0 != nil } }

    /// Whether ``advanceEviction()`` would do something. Any thread may ask.
    package var canAdvanceEviction: Bool {
        guard let run = core.evictions.run.withLock({ $0 }) else { return false }
        guard let awaited = run.awaitedTransaction else { return true }
        return core.environment.readers.oldestViewed >= awaited
    }

    /// Does the next step of evicting. At most one transaction.
    package func advanceEviction() throws(StoreError) -> EvictionStep {
        try pipeline.advanceEviction()
    }

    /// Stores the bytes of an evicted or a damaged blob again. Can be repeated however far it went before.
    ///
    /// - Parameters:
    ///   - bytes: as stored, and checked.
    ///   - bootMilliseconds: the boot clock's present.
    /// - Throws: ``StoreError/full``.
    package func putBack(
        _ blob: BlobReference, _ bytes: [UInt8], bootMilliseconds: Int64? = nil
    ) throws(StoreError) -> PutBackOutcome {
        try pipeline.putBack(blob, bytes, bootMilliseconds: bootMilliseconds)
    }

    /// How many blobs this process has evicted.
    package var evictionCountEver: Int { core.evictions.countEver.load(ordering: .relaxed) }

    /// How many blobs may have chunks missing here. One lookup.
    package func evictedBlobs() throws(StoreError) -> EvictedBlobs {
        let count = try core.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.evictionCount()
        }
        return EvictedBlobs(blobs: Int(clamping: count.blobs), bytes: Int(clamping: count.bytes))
    }
}
