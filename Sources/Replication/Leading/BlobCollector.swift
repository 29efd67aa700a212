package import BlobStore

/// Deletes objects of blobs that no base and no segment within the retention names, and finds out which are missing.
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
    /// Number from which on blobs may have been stored after the newest base: they may be yet to be shipped.
    private let end: UInt64
    private let kept: [UInt64]
    private var next = 0
    private var found: UInt64?
    private var last = ""
    package private(set) var deletedCount = 0
    /// Numbers of kept blobs that were stored before the newest base, and have no object.
    package private(set) var missing: Set<UInt64> = []

    /// A collector. It reads all keys of the store's long blobs; 8 bytes of memory for each.
    ///
    /// - Parameters:
    ///   - oldest: the oldest base that is kept: older ones are deleted before.
    ///   - newest: the newest one: all that it has was shipped.
    package init(
        _ store: BlobStore, epoch: UInt64, oldest: BaseManifest, newest: BaseManifest
    ) throws {
        self.epoch = epoch
        self.oldest = oldest
        end = newest.nextBlobNumber
        kept = try store.longBlobNumbers(retiredAfter: oldest.sequence)
    }

    /// Looks at up to 1,000 names, and deletes those of them that are garbage. A LIST, and another one of the
    /// epochs where something is deleted.
    ///
    /// - Throws: ``ReplicationError/deposed(epoch:leader:)`` when another store leads, and nothing is deleted.
    package mutating func step(on bucket: some Bucket) throws(ReplicationError) -> Bool {
        let after = last
        let names = try bucket.list(ShardNames.blobPrefix, after: after)
        var garbage: [String] = []
        for name in names {
            guard let number = ShardNames.blobParts(name)?.number else { continue }
            // Names are sorted by their numbers.
            noteMissing(below: number)
            found = number
            if next < kept.count, kept[next] == number { continue }
            if number < oldest.nextBlobNumber { garbage.append(name) }
        }
        if !garbage.isEmpty {
            try Epochs.requireNewest(epoch, on: bucket)
            for name in garbage { try bucket.delete(name) }
            deletedCount += garbage.count
        }
        if let name = names.last, (found ?? 0) < end {
            last = name
            return true
        }
        noteMissing(below: end)
        return false
    }

    private mutating func noteMissing(below number: UInt64) {
        while next < kept.count, kept[next] < min(number, end) {
            if kept[next] != found { missing.insert(kept[next]) }
            next += 1
        }
    }
}
