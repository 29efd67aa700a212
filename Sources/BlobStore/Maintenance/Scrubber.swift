internal import Bytes
internal import LMDB
internal import Synchronization

/// Reads everything in a store again, in steps of one short snapshot: records, the index, blobs with their chunks.
/// Damaged blobs are noted for quarantine; other damage is counted. One thread uses it.
package struct Scrubber {
    private let core: StoreCore
    private let disk: DiskReader?
    package private(set) var position: ScrubPosition
    /// What was found since it was asked last, in words for the log.
    private var findings: [String] = []

    /// Entries that one step looks at.
    private static let entryCountMax = 256
    /// Findings in words; others are only counted.
    private static let findingCountMax = 16

    init(_ core: StoreCore) throws(StoreError) {
        self.core = core
        disk = DiskReader("\(core.directory)/\(DataFile.name)")
        // Where it is not known how far the last one was, a round begins at the start.
        position = (try? core.snapshot().meta()) ?? ScrubPosition()
    }

    package mutating func begin(asOf now: Timestamp) {
        position.beganAt = now
        position.byteCount = 0
        position.phase = .records
        position.key = []
    }

    package mutating func takeFindings() -> [String] {
        defer { findings = [] }
        return findings
    }

    /// Does one step of a round that was begun. Returns bytes that were read; nil when the round has ended.
    package mutating func step(byteCountMax: Int, asOf now: Timestamp) throws(StoreError) -> Int? {
        if position.phase == .records, position.key.isEmpty, try !arePagesSound() {
            position.beganAt = nil
            position.endedAt = now
            return nil
        }
        let before = position.byteCount
        let isAtEnd: Bool
        switch position.phase {
        case .records: isAtEnd = try readEntries(of: core.tables.notifications, byteCountMax)
        case .index: isAtEnd = try readEntries(of: core.tables.index, byteCountMax)
        case .blobs: isAtEnd = try readBlobs(byteCountMax)
        }
        let byteCount = position.byteCount - before
        guard isAtEnd else { return byteCount }
        position.key = []
        switch position.phase {
        case .records: position.phase = .index
        case .index: position.phase = .blobs
        case .blobs:
            position.beganAt = nil
            position.endedAt = now
            return nil
        }
        return byteCount
    }

    /// Checks the pages before entries are walked over, since liblmdb believes them. Not in a large store.
    private mutating func arePagesSound() throws(StoreError) -> Bool {
        guard try core.environment.tablePageCount(core.tables) <= StoreLimits.pagesScrubbedMax
        else {
            return true
        }
        let report = try Verifier.checkPages(of: core)
        if report.problems == [Verifier.noMetaPage] { return true }
        for problem in report.problems { note(problem) }
        return report.isClean
    }

    /// - Returns: whether the table has no more.
    private mutating func readEntries(
        of table: Table, _ byteCountMax: Int
    ) throws(StoreError) -> Bool {
        let isRecord = table == core.tables.notifications
        let key = position.key
        var byteCount = 0
        var count = 0
        defer { position.byteCount += byteCount }
        return try core.snapshot().walk(table, after: key.span.bytes) {
            (cursor) throws(StoreError) in
            guard count < Self.entryCountMax, byteCount < byteCountMax else { return false }
            do throws(StoreError) {
                if isRecord {
                    try RecordView(cursor.value).check(id: cursor.key)
                } else {
                    _ = try IndexEntry(cursor.key, cursor.value)
                }
            } catch {
                note(
                    "table \(table.name), key \(KeyText.text(cursor.key)): \(error)",
                    isRecord: isRecord)
            }
            byteCount += cursor.key.byteCount + cursor.value.byteCount
            position.key = cursor.key.array()
            count += 1
            return true
        }
    }

    private mutating func note(_ finding: String, isRecord: Bool = false) {
        if isRecord {
            core.quarantine.damagedRecords.add(1, ordering: .relaxed)
        } else {
            core.quarantine.damagedEntries.add(1, ordering: .relaxed)
        }
        if findings.count < Self.findingCountMax { findings.append(finding) }
    }

    /// Reads blobs chunk by chunk. The key of the mark is a digest, and where not all of that blob was read the
    /// number of the next chunk. Returns whether there are no more.
    private mutating func readBlobs(_ byteCountMax: Int) throws(StoreError) -> Bool {
        var byteCount = 0
        var count = 0
        defer { position.byteCount += byteCount }
        while byteCount < byteCountMax, count < Self.entryCountMax {
            let next = try nextBlob()
            guard let (digest, blob, first) = next else { return true }
            count += 1
            position.key = digest
            guard let blob else { continue }
            byteCount += BlobEntry.byteCount + 32
            var index = first
            while index < blob.chunkCount, byteCount < byteCountMax {
                guard try readChunk(of: blob, at: index) else { break }
                byteCount += blob.chunkByteCount(at: index)
                index += 1
                if index < blob.chunkCount {
                    position.key = digest
                    position.key.append(bigEndian: UInt32(index))
                } else {
                    position.key = digest
                }
            }
        }
        return false
    }

    /// The blob to continue with, and its next chunk. Without a blob where its entry is damaged.
    private mutating func nextBlob() throws(StoreError) -> ([UInt8], BlobReference?, Int)? {
        let key = position.key
        let digest = Array(key.prefix(Digest.byteCount))
        let next =
            key.count > digest.count
            ? Int(UInt32(bigEndian: key.span.bytes.integer(Digest.byteCount))) : nil
        var found: ([UInt8], BlobReference?, Int)?
        try core.snapshot().walk(core.tables.blobs, from: digest.span.bytes) {
            (cursor) throws(StoreError) in
            let isSame = cursor.key.equals(digest.span.bytes)
            if isSame, next == nil { return true }
            do throws(StoreError) {
                let blob = try cursor.blobEntry().blob
                found = (cursor.key.array(), blob, isSame ? next ?? 0 : 0)
            } catch {
                note("table blobs, key \(KeyText.text(cursor.key)): \(error)")
                found = (cursor.key.array(), nil, 0)
            }
            return false
        }
        return found
    }

    /// Returns false where the blob has gone meanwhile, or is damaged.
    private func readChunk(of blob: BlobReference, at index: Int) throws(StoreError) -> Bool {
        guard !core.quarantine.contains(blob.number) else { return false }
        if try isDamaged(blob, at: index, inMemory: false) {
            try confirm(blob)
            return false
        }
        return try core.snapshot().isStored(blob)
    }

    /// Whether a chunk of a blob that is stored fails its checksum, as the disk has it or as it is in memory.
    private func isDamaged(
        _ blob: BlobReference, at index: Int, inMemory: Bool
    ) throws(StoreError) -> Bool {
        try core.withSnapshot { (snapshot) throws(StoreError) in
            guard snapshot.isStored(blob) else { return false }
            do throws(StoreError) {
                let reader = ChunkReader(snapshot)
                try reader.checkOnDisk(of: blob, at: index, disk, in: core.environment.mappedFile)
                if inMemory { _ = try reader.checkedChunk(of: blob, at: index) }
                return false
            } catch {
                switch error {
                case .corrupt: return true
                // The bucket has its bytes.
                case .evicted: return false
                default: throw error
                }
            }
        }
    }

    /// Counts the damaged chunks of a blob, and has it quarantined.
    private func confirm(_ blob: BlobReference) throws(StoreError) {
        var chunkCount = 0
        for index in 0..<blob.chunkCount where try isDamaged(blob, at: index, inMemory: true) {
            chunkCount += 1
        }
        guard chunkCount > 0 else { return }
        core.quarantine.confirm(blob, chunkCount: chunkCount)
        core.forgetVerified(blob)
    }

    /// Reads blobs again of which a reader has met a damaged chunk.
    package func checkSuspects() throws(StoreError) {
        for blob in core.quarantine.takeSuspects() { try confirm(blob) }
    }

    /// Notifications that refer to a quarantined blob: up to `countMax` ids. Reads the records until they
    /// are found.
    package func ids(
        referringTo number: UInt64, countMax: Int
    ) throws(StoreError) -> [String] {
        var ids: [String] = []
        var last: [UInt8]? = []
        while let key = last, ids.count < countMax {
            let found = try core.snapshot().ids(
                after: key, referringTo: [number], countMax: 4_096,
                matchCountMax: countMax - ids.count)
            ids += found.ids
            last = found.last
        }
        return ids
    }
}

extension Snapshot {
    fileprivate borrowing func isStored(_ blob: BlobReference) -> Bool {
        (try? blobEntry(blob.digest))?.number == blob.number
    }
}
