internal import BlobStore

/// Makes room for a store that is built from a base, on a disk that has none for it beside the old one. That one is not
/// served any more, and what only it has was saved; so it is given up, when nothing else would be lost with it.
struct SeedRoom {
    let directory: String
    let options: StoreOptions
    let host: any ShardHost
    /// The epoch of the old store; nil: there is none.
    let epoch: UInt64?

    /// What a base needs, and what there is.
    private struct Sizes {
        let needed: Int
        let available: Int
        /// What the old store has on the disk.
        let old: Int

        var lacking: Int { max(0, needed - available - old) }
    }

    /// Returns when there is room for a base, for which there was none.
    ///
    /// - Throws: `error` where it is not for the disk, ``StoppedAtStart`` when the process ends before.
    func make(for manifest: BaseManifest, after error: StoreError, on bucket: any Bucket) throws {
        let (byteCount, blobs) = try Seeder.size(
            of: manifest, leavesBlobs: host.settings.localByteCountMax != nil, on: bucket)
        guard byteCount <= options.mapByteCountMax else {
            throw ReplicaFailure(
                description:
                    "the store from the base after segment \(manifest.position.number) takes about \(byteCount) bytes, more than --map-size (\(options.mapByteCountMax)): raise it"
            )
        }
        var interval = ReplicationLimits.roomLookMilliseconds
        var hasSaid = false
        while true {
            guard let sizes = sizes(of: byteCount) else { throw error }
            if sizes.needed <= sizes.available {
                guard hasSaid else { throw error }
                return
            }
            let absent =
                sizes.lacking == 0
                ? try LongBlobs.absent(blobs, on: bucket).count : 0
            if sizes.lacking == 0, absent == 0, let epoch {
                host.log(
                    .warning,
                    "\(directory) has no room for two stores (\(sizes.available) bytes are free, and about \(sizes.needed) are needed): removing the old one (\(sizes.old) bytes), which must be rebuilt, before the new one is built"
                )
                return try BlobStore.empty(
                    directory, options: options, epoch: epoch, asOf: host.now)
            }
            if !hasSaid {
                host.log(.critical, advice(sizes, manifest, absent: absent))
                hasSaid = true
            }
            if host.wait(milliseconds: interval) { throw StoppedAtStart() }
            interval = min(2 * interval, ReplicationLimits.roomLookMillisecondsMax)
        }
    }

    private func sizes(of byteCount: Int) -> Sizes? {
        guard let available = BlobStore.availableByteCount(in: directory) else { return nil }
        return Sizes(
            needed: byteCount + byteCount / 16 + ReplicationLimits.seedRoomByteCount,
            available: available,
            old: epoch == nil ? 0 : BlobStore.allocatedByteCount(of: directory))
    }

    private func advice(_ sizes: Sizes, _ manifest: BaseManifest, absent: Int) -> String {
        let base =
            "The store from the base after segment \(manifest.position.number) needs about \(sizes.needed) bytes, and \(directory) has \(sizes.available) free"
        if absent > 0 {
            return
                "\(base). The old store (\(sizes.old) bytes) stays, since the bucket lacks \(absent) payloads that it may have: free \(sizes.needed - sizes.available) bytes, or have the leader upload them again (after its next base). This daemon waits for either"
        }
        let old = sizes.old > 0 ? " beside the old store's \(sizes.old)" : ""
        return
            "\(base)\(old): free \(sizes.lacking) bytes, move the folder to a larger disk, or leave long payloads in the bucket with --local-bytes. This daemon waits for the space"
    }
}
