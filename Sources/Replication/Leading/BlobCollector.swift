package import BlobStore

/// Deletes objects of blobs that no base and no segment within the retention names, and finds out which are missing.
///
/// An object is deleted when its number is below the next one of the oldest base that is kept, and this store
/// neither has it, nor is about to, nor retired it after that base. One that an older base has stays for as long as the
/// manifest of that, which could not be deleted.
///
/// What is garbage stays garbage, so a collector may be paused anywhere, for however long. A number
/// is given once in a shard: not again by this leader, and not by a later one, whose numbers begin after a
/// gap for each epoch. The same content published again is another blob with another number. Every later
/// leader has all that the oldest kept base has, because that is in the log, before any later fence; and
/// whatever has a number below that base's next one and is neither in it nor was adopted after it is never
/// adopted. What a deposed leader uploads late has numbers in a gap: garbage, too.
package struct BlobCollector {
    private let store: BlobStore
    private let epoch: UInt64
    private let oldest: BaseManifest
    /// Number from which on blobs may have been stored after the newest base: they may be yet to be shipped.
    private let end: UInt64
    private let kept: [UInt64]
    private var next = 0
    /// The number of the last name, and of the last one that is a whole object of the blob that has the number here. A copy
    /// of this folder may have stored other bytes under it.
    private var number: UInt64 = 0
    private var found: UInt64?
    private var last = ""
    package private(set) var deletedCount = 0
    /// Why the last step left garbage.
    private(set) var failure: (any Error)?
    /// Numbers of kept blobs that were stored before the newest base, and have no object; and of some that are retired,
    /// which have one.
    package private(set) var missing: Set<UInt64> = []

    /// A collector. It reads all keys of the store's long blobs; 8 bytes of memory for each.
    ///
    /// - Parameter bases: all that there are. Others are deleted before.
    package init(_ store: BlobStore, epoch: UInt64, _ bases: KeptBases) throws {
        self.store = store
        self.epoch = epoch
        oldest = bases.oldest
        end = bases.newest.nextBlobNumber
        kept = try bases.blobNumbers(of: store)
    }

    /// Looks at up to 1,000 names, and deletes those of them that are garbage. A LIST, and ``LeadCheck``
    /// where something is deleted.
    ///
    /// - Throws: ``ReplicationError/deposed(epoch:leader:)`` when another store leads, and nothing is deleted.
    package mutating func step(on bucket: some Bucket) throws(ReplicationError) -> Bool {
        failure = nil
        let after = last
        let page = try bucket.list(ShardNames.blobPrefix, after: after)
        var garbage: [String] = []
        for object in page.objects {
            guard let (number, digest) = ShardNames.blobParts(object.name) else { continue }
            // Names are sorted by their numbers.
            noteMissing(below: number)
            self.number = number
            if isWhole(object, of: digest, number) { found = number }
            if next < kept.count, kept[next] == number { continue }
            if number < oldest.nextBlobNumber { garbage.append(object.name) }
        }
        if !garbage.isEmpty {
            try LeadCheck.require(epoch, of: store, on: bucket)
            deletedCount += try bucket.delete(garbage.map { [$0] }, noting: &failure).count
        }
        if let name = page.names.last, !page.isLast, number < end {
            last = name
            return true
        }
        noteMissing(below: end)
        return false
    }

    /// Whether an object is that of the blob that has the number here, by its name and size: one that was cut is put again,
    /// as if it were missing. What cannot be looked up may be it.
    private func isWhole(_ object: ListPage.Object, of digest: Digest, _ number: UInt64) -> Bool {
        do throws(StoreError) {
            let blob = try store.storedBlob(digest, number: number)
            return blob.map { object.byteCount == BlobObject.byteCount(of: $0) } ?? false
        } catch {
            return true
        }
    }

    private mutating func noteMissing(below number: UInt64) {
        while next < kept.count, kept[next] < min(number, end) {
            if kept[next] != found { missing.insert(kept[next]) }
            next += 1
        }
    }
}
