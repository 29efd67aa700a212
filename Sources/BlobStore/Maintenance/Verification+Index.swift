internal import Bytes
internal import LMDB

// The index is held against what it is of, both ways; notifications in `Verification+Places.swift`.

extension Snapshot {
    /// That what is kept has a reason to be, and that a hold ends.
    borrowing func checkHold(_ entry: BlobEntry, _ recount: Recount) throws(StoreError) {
        guard let end = entry.heldUntil else {
            if entry.referenceCount == 0 {
                recount.add("\(entry.blob.digest) has no reference and no hold")
            }
            return
        }
        recount.counters.heldBlobs += 1
        if try !hasIndexEntry(IndexKeys.holdEnd(end, entry.blob.digest)) {
            recount.add("the hold of \(entry.blob.digest) has no expiry in the index")
        }
    }

    borrowing func recountIndex(_ recount: Recount) throws(StoreError) {
        var expirySum: UInt64 = 0
        var expiryCount = 0
        var places = PlaceSums(countsOwners: recount.places.countsOwners)
        try walk(tables.index, recount) { (cursor) throws(StoreError) in
            let key = cursor.key
            switch try IndexEntry(key, cursor.value) {
            case .time(.notification):
                expiryCount += 1
                expirySum &+= PlaceSums.fingerprint(key)
            case .time(let entry): try check(entry, recount)
            case .category(let category):
                recount.revisionMax = max(recount.revisionMax, category.revision)
                recount.counters.categories += 1
            case .categoryEdit(let edit):
                recount.revisionMax = max(recount.revisionMax, edit.revision)
            case .quarantine, .retired: break
            case .outbox(let batch):
                if IndexKeys.number(key) != batch.sequence {
                    recount.add(
                        "the batch \(batch.sequence) waits to be shipped under another number")
                }
            case .sequence(let entry, let owner, let revision):
                recount.revisionMax = max(recount.revisionMax, revision)
                if entry.kind == .live {
                    places.add(entry, key: key)
                } else {
                    recount.counters.tombstones += 1
                    try check(tombstone: entry, of: owner, at: revision, recount)
                }
            case .member: places.addMember(key: key)
            case .finder(let finder, let owner, let hash):
                let entry = try sequenceEntry(owner, finder.revision)
                guard let entry, entry.kind != .live,
                    entry.finderKey(owner).suffix(IndexKeys.finderHashByteCount).elementsEqual(hash)
                else {
                    recount.add(
                        "\(owner): the tombstone index entry of revision \(finder.revision) has no tombstone"
                    )
                    return
                }
            case .mark(let mark, let owner):
                recount.revisionMax = max(recount.revisionMax, mark.revision)
                if try !hasIndexEntry(IndexKeys.markEnd(mark.end, owner)) {
                    recount.add("the purge marker of \(owner) has no expiry in the index")
                }
            case .usage(let usage, let owner): places.add(usage, of: owner)
            }
        }
        if expiryCount != recount.report.notifications || expirySum != recount.expirySum {
            recount.add(
                "the expiry table has \(expiryCount) entries that do not match the \(recount.report.notifications) notifications"
            )
        }
        if places != recount.places { try findMisplaced(recount) }
    }

    /// What ends at a time, other than a notification.
    private borrowing func check(_ entry: TimeEntry, _ recount: Recount) throws(StoreError) {
        switch entry {
        case .notification: break
        case .tombstone(let end, let owner, let revision):
            if try sequenceEntry(owner, revision)?.end != end {
                recount.add("the expiry of tombstone \(revision) of \(owner) has no tombstone")
            }
        case .hold(let end, let digest):
            if try blobEntry(digest)?.heldUntil != end {
                recount.add("the expiry of a hold of \(digest) has no hold")
            }
        case .mark(let end, let owner):
            if try purgeMarker(owner)?.end != end {
                recount.add("the expiry of a purge marker of \(owner) has no purge marker")
            }
        }
    }

    private borrowing func check(
        tombstone entry: SequenceEntry, of owner: String, at revision: UInt64,
        _ recount: Recount
    ) throws(StoreError) {
        if entry.kind != .category, let record = try record(entry.id),
            record.owner.isSame(as: owner), record.app.isSame(as: entry.app)
        {
            recount.add("notification \(entry.id) of \(owner) exists and has a tombstone")
        }
        if try foundRevision(entry.finderKey(owner)) != revision {
            recount.add("tombstone \(revision) of \(owner) has no tombstone index entry")
        }
        if let end = entry.end, try !hasIndexEntry(IndexKeys.tombstoneEnd(end, owner, revision)) {
            recount.add("tombstone \(revision) of \(owner) has no expiry in the index")
        }
    }
}
