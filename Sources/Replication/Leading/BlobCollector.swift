package import BlobStore

/// Deletes objects of blobs that no base and no segment within the retention names.
///
/// An object is deleted when its number is below the next one of the oldest base that is kept, and this store
/// neither has it, nor is about to, nor retired it after that base.
///
/// What is garbage stays garbage, so a collector may be paused anywhere, for however long. A number
/// is given once in a shard: not again by this leader, and not by a later one, whose numbers begin after a
/// gap for each epoch. The same content published again is another blob with another number. Every later
/// leader has all that the oldest kept base has, because that is in the log, before any later fence; and
/// whatever has a number below that base's next one and is neither in it nor was adopted after it is never
/// adopted. What a deposed leader uploads late has numbers in a gap: garbage, too.
package struct BlobCollector {
    private let epoch: UInt64
    private let oldest: BaseManifest
    private let kept: [UInt64]
    private var next = 0
    private var last = ""
    package private(set) var deletedCount = 0

    /// A collector. It reads all keys of the store's long blobs; 8 bytes of memory for each.
    ///
    /// - Parameter oldest: the oldest base that is kept: older ones are deleted before.
    package init(_ store: BlobStore, epoch: UInt64, oldest: BaseManifest) throws {
        self.epoch = epoch
        self.oldest = oldest
        kept = try store.longBlobNumbers(retiredAfter: oldest.sequence)
    }

    /// Looks at up to 1,000 names, and deletes those of them that are garbage. A LIST, and another one of the
    /// epochs where something is deleted.
    ///
    /// - Throws: ``ReplicationError/deposed(epoch:leader:)`` when another store leads, and nothing is deleted.
    package mutating func step(on bucket: some Bucket) throws(ReplicationError) -> Bool {
        let after = last
        let names = try bucket.list(ShardNames.blobPrefix, after: after)
        guard let end = names.last else { return false }
        var garbage: [String] = []
        var isBehind = false
        for name in names {
            guard let number = ShardNames.blobParts(name)?.number else { continue }
            // Names are sorted by their numbers.
            isBehind = number >= oldest.nextBlobNumber
            if isBehind { break }
            while next < kept.count, kept[next] < number { next += 1 }
            if next < kept.count, kept[next] == number { continue }
            garbage.append(name)
        }
        if !garbage.isEmpty {
            try Epochs.requireNewest(epoch, on: bucket)
            for name in garbage { try bucket.delete(name) }
            deletedCount += garbage.count
        }
        last = end
        return !isBehind
    }
}
