internal import Bytes
internal import Hashing
internal import LMDB

/// What a walk of all tables counts, to be held against what they say of themselves.
final class Recount {
    var report = VerifyReport()
    var counters = Counters()
    /// How often parts refer to each digest, and where they say it is.
    var references: [Digest: (count: UInt64, blob: BlobReference)] = [:]
    /// The sum of what each notification's expiry entry must say; the index is held against it.
    var expirySum: UInt64 = 0
    var storedBlobs: [BlobReference] = []
    /// Blob number: stored bytes, for blobs and orphans alike.
    var numbers: [UInt64: Int] = [:]
    var partlyFreed: Set<UInt64> = []
    /// Those of ``numbers`` that are staged: on a follower, ahead of the batch that counts them.
    var staged: Set<UInt64> = []
    /// By blob number: stored bytes of those in the bucket, whose chunks may be missing.
    var evicted: [UInt64: UInt64] = [:]
    var damaged: Set<UInt64> = []
    var revisionMax: UInt64 = 0
    /// What the entries of all notifications in the index must come to.
    var places = PlaceSums()
    /// By blob number: blobs that gave way to others, and how many parts refer to each.
    var quarantined: [UInt64: (blob: BlobReference, said: UInt64, counted: UInt64)] = [:]

    func add(_ problem: String) { report.add(problem) }
}

extension Snapshot {
    borrowing func recountNotifications(_ recount: Recount) throws(StoreError) {
        recount.places = PlaceSums(countsOwners: try format().countsOwners)
        try walk(tables.notifications, recount) { (cursor) throws(StoreError) in
            recount.report.notifications += 1
            let record = try cursor.record()
            recount.counters.notifications += 1
            recount.revisionMax = max(recount.revisionMax, record.revision)
            let expiry = Keys.expiry(record.expiresAt, record.id)
            recount.expirySum &+= PlaceSums.fingerprint(expiry.span.bytes)
            for part in record.parts {
                recount.counters.parts += 1
                recount.counters.bytesReferenced += UInt64(part.byteCount)
                if recount.quarantined[part.blob.number]?.blob == part.blob {
                    recount.quarantined[part.blob.number]?.counted += 1
                    continue
                }
                let known = recount.references[part.digest]
                if let known, known.blob != part.blob {
                    recount.add(
                        "notification \(record.id): \(part.digest) has another location than in other parts"
                    )
                }
                recount.references[part.digest] = ((known?.count ?? 0) + 1, part.blob)
            }
            recount.report.parts += record.parts.count
            if record.sequence > record.revision {
                recount.add("notification \(record.id) has a sequence above its revision")
            }
            recount.places.add(record)
        }
    }

    borrowing func recountBlobs(_ recount: Recount) throws(StoreError) {
        try walk(tables.blobs, recount) { (cursor) throws(StoreError) in
            recount.report.blobs += 1
            let entry = try cursor.blobEntry()
            let (blob, digest) = (entry.blob, entry.blob.digest)
            let referenced = recount.references.removeValue(forKey: digest)
            if (referenced?.count ?? 0) != entry.referenceCount {
                recount.add(
                    "\(digest) has a reference count of \(entry.referenceCount); \(referenced?.count ?? 0) parts refer to it"
                )
            }
            if let referenced, referenced.blob != blob {
                recount.add("\(digest) has another location than in its parts")
            }
            try checkHold(entry, recount)
            recount.counters.blobs += 1
            recount.counters.bytes += UInt64(blob.byteCount)
            recount.counters.bytesStored += UInt64(blob.storedByteCount)
            recount.numbers[blob.number] = blob.storedByteCount
            recount.storedBlobs.append(blob)
        }
        for digest in recount.references.keys {
            recount.add("parts refer to \(digest), which is not stored")
        }
        for (number, quarantined) in recount.quarantined {
            if quarantined.said != quarantined.counted {
                recount.add(
                    "\(quarantined.blob.digest) is quarantined with a reference count of \(quarantined.said); \(quarantined.counted) parts refer to it"
                )
            }
            if recount.numbers.updateValue(quarantined.blob.storedByteCount, forKey: number) != nil
            {
                recount.add("blob \(number) is both stored and quarantined")
            }
            recount.storedBlobs.append(quarantined.blob)
        }
    }

    /// What the quarantine has, before the parts are counted that refer to it.
    borrowing func collectQuarantined(_ recount: Recount) throws(StoreError) {
        for entry in try quarantineEntries() {
            recount.quarantined[entry.blob.number] = (entry.blob, entry.referenceCount, 0)
        }
    }

    /// The states of blobs, against the blobs that are stored.
    borrowing func recountStates(_ recount: Recount) throws(StoreError) {
        try walk(tables.orphans, recount) { (cursor) throws(StoreError) in
            let (number, entry) = try cursor.state()
            switch entry.state {
            case .released, .staged:
                recount.report.orphans += 1
                recount.counters.orphanBlobs += 1
                recount.counters.orphanBytes += entry.storedByteCount
                if recount.numbers.updateValue(Int(entry.storedByteCount), forKey: number) != nil {
                    recount.add("blob \(number) is both stored and an orphan")
                }
                // Being written ahead or freed step by step: it may lack chunks.
                recount.partlyFreed.insert(number)
                if entry.state == .staged { recount.staged.insert(number) }
                return
            case .inBucket: recount.evicted[number] = entry.storedByteCount
            case .damaged: recount.damaged.insert(number)
            }
            // Those to be freed were walked over before.
            if recount.partlyFreed.contains(number) || recount.numbers[number] == nil {
                recount.add("blob \(number) is \(entry.state), and is not stored")
            }
            if recount.evicted[number] != nil, recount.damaged.contains(number) {
                recount.add("blob \(number) is both in the bucket and damaged")
            }
            if entry.state == .inBucket, let byteCount = recount.numbers[number],
                byteCount != Int(entry.storedByteCount)
            {
                recount.add(
                    "blob \(number) is in the bucket with \(entry.storedByteCount) bytes; expected \(byteCount)"
                )
            }
        }
    }

    /// Every chunk belongs to a blob or an orphan, and every blob has all of its own.
    borrowing func recountChunks(_ recount: Recount) throws(StoreError) {
        var found: [UInt64: Int] = [:]
        try walk(tables.chunks, recount) { (cursor) throws(StoreError) in
            guard cursor.key.byteCount == ChunkKey.byteCount else {
                recount.add("a key of the chunk table has \(cursor.key.byteCount) bytes")
                return
            }
            let number = UInt64(bigEndian: cursor.key.word(0))
            if recount.numbers[number] == nil {
                recount.add("a chunk of blob \(number) has no blob")
            }
            found[number, default: 0] += ChunkLayout.byteCount(
                ofValue: cursor.value.byteCount)
        }
        recount.report.evictedBlobs = recount.evicted.count
        for (number, byteCount) in recount.numbers where !recount.partlyFreed.contains(number) {
            let there = found[number] ?? 0
            if there != byteCount, recount.evicted[number] == nil,
                !recount.damaged.contains(number)
            {
                recount.add("blob \(number) has \(there) stored bytes; expected \(byteCount)")
            }
        }
    }

    /// Calls `body` at each entry of a table, in key order. What it throws goes into the report, and so does an
    /// entry that is not inside of its pages.
    borrowing func walk(
        _ table: Table, _ recount: Recount,
        _ body: (borrowing TableCursor) throws(StoreError) -> Void
    ) throws(StoreError) {
        var cursor = try cursor(in: table)
        var movesLeft =
            try StoreError.converting { () throws(LMDBError) in
                try transaction.entryCount(of: table)
            } + 1
        var isBegun = false
        while true {
            guard movesLeft > 0 else {
                recount.add("table \(table.name) has more entries than its count")
                return
            }
            movesLeft -= 1
            let wasBegun = isBegun
            isBegun = true
            do throws(LMDBError) {
                guard try cursor.move(wasBegun ? .next : .first) else { return }
            } catch {
                recount.add(StoreError(error, at: cursor.key, in: table.name).description)
                guard error.isOutOfBounds else { return }
                continue
            }
            store.options.walkPosition?.note(table.name, cursor.key)
            do throws(StoreError) {
                try body(cursor)
            } catch {
                let key = KeyText.text(cursor.key)
                recount.add("table \(table.name), key \(key): \(error.description)")
            }
        }
    }

    /// Everything that `meta` has, in the words of who reads it.
    borrowing func checkMeta(_ recount: Recount) throws(StoreError) {
        let known: [any MetaValue.Type] = [
            FormatRecord.self, Counters.self, ZeroCopyMark.self, Predecessors.self,
            ScrubPosition.self,
            ReplicationState.self, EpochList.self, EvictionCount.self, LogState.self,
        ]
        try walk(tables.meta, recount) { (cursor) throws(StoreError) in
            let name = cursor.key.text()
            guard let kind = known.first(where: { $0.name == name }) else {
                throw .corrupt("an unknown entry \"\(name)\"")
            }
            _ = try kind.init(cursor.value)
        }
    }

    borrowing func compareCounters(_ recount: Recount) throws(StoreError) {
        let said: Counters
        do throws(StoreError) {
            said = try counters()
        } catch {
            guard case .corrupt = error else { throw error }
            // The walk over `meta` has said so, unless they are not there.
            if recount.report.isClean { recount.add(error.description) }
            return
        }
        let counted = recount.counters
        let pairs: [(String, UInt64, UInt64)] = [
            ("notifications", said.notifications, counted.notifications),
            ("parts", said.parts, counted.parts), ("blobs", said.blobs, counted.blobs),
            ("bytes", said.bytes, counted.bytes),
            ("bytes stored", said.bytesStored, counted.bytesStored),
            ("bytes referenced", said.bytesReferenced, counted.bytesReferenced),
            ("orphans", said.orphanBlobs, counted.orphanBlobs),
            ("orphan bytes", said.orphanBytes, counted.orphanBytes),
            ("tombstones", said.tombstones, counted.tombstones),
            ("held blobs", said.heldBlobs, counted.heldBlobs),
            ("categories", said.categories, counted.categories),
        ]
        for (name, said, counted) in pairs where said != counted {
            recount.add("the counter of \(name) is \(said); counted: \(counted)")
        }
        let evicted = try evictionCount()
        let evictedBytes = recount.evicted.values.reduce(0, +)
        if evicted.blobs != recount.evicted.count || evicted.bytes != evictedBytes {
            recount.add(
                "the counter of evicted blobs is \(evicted.blobs) with \(evicted.bytes) bytes; counted: \(recount.evicted.count) with \(evictedBytes)"
            )
        }
        let highest = recount.numbers.keys.filter { !recount.staged.contains($0) }.max() ?? 0
        if said.nextBlobNumber <= highest {
            recount.add("the next blob number, \(said.nextBlobNumber), is already in use")
        }
        if said.revision < recount.revisionMax {
            recount.add("revision \(recount.revisionMax) is above the last one, \(said.revision)")
        }
        if said.revision < said.horizon {
            recount.add(
                "the horizon \(said.horizon) is above the last revision, \(said.revision)")
        }
    }

    /// Computes every chunk's checksum, whatever was computed before, and the digest of the bytes
    /// as given.
    borrowing func checkBytes(of blob: BlobReference) throws(StoreError) {
        let payload = Payload(
            ChunkReader(self), blob: blob, expiresAt: Timestamp(milliseconds: .max))
        for index in 0..<blob.chunkCount {
            _ = try ChunkReader(self).checkedChunk(of: blob, at: index)
        }
        var hash = SHA256()
        do {
            try payload.forEachPiece { piece in
                hash.update(piece)
            }
        } catch let error as StoreError {
            throw error
        } catch {
            throw .corrupt("\(blob.digest): \(error)")
        }
        guard Digest(hash.digest()) == blob.digest else {
            throw .corrupt("the bytes of \(blob.digest) have another digest")
        }
        try checkRestartPoints(of: blob)
    }
}
