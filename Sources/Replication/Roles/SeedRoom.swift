internal import BlobStore

/// Makes room for a store that is built from a base, on a disk that has none for it beside the old one. That one is not
/// served any more, and what only it has was saved; so it is given up, when nothing else would be lost with it.
///
/// Kept from attempt to attempt: it waits longer each time, and says once why.
struct SeedRoom {
    let directory: String
    let options: StoreOptions
    let host: any ShardHost
    /// The epoch of the old store; nil: there is none.
    let epoch: UInt64?

    /// The base that was measured last: all of it is read for that.
    private var measured: (base: BaseManifest, byteCount: Int, blobs: [BlobReference])?
    /// What was said of it last.
    private var said: Obstruction?
    private var interval = ReplicationLimits.roomLookMilliseconds
    private var hasRemovedOld = false

    init(
        _ directory: String, _ options: StoreOptions, _ host: any ShardHost, epoch: UInt64?
    ) {
        self.directory = directory
        self.options = options
        self.host = host
        self.epoch = epoch
    }

    /// What a base needs, and what there is.
    private struct Sizes {
        let needed: Int
        let available: Int
        /// What the old store has on the disk.
        let old: Int

        var lacking: Int { max(0, needed - available - old) }
    }

    private enum Obstruction {
        case lacksSpace, mayHaveOnlyCopies, cannotRemoveOld
        /// The store would be longer than its map may be.
        case exceedsMap
        /// The disk has the space, and writing failed all the same.
        case isRefused
    }

    /// Returns when it is worth while to try again to build the store: from the base for which there was no room, or from
    /// another one.
    ///
    /// - Parameter newest: the last base that was there when this one was chosen.
    /// - Throws: ``StoppedAtStart`` when the process ends before.
    mutating func make(
        for manifest: BaseManifest, newest: UInt64, on bucket: any Bucket
    ) throws {
        do { try measure(manifest, on: bucket) } catch {
            guard isOutdated(manifest, newest: newest, on: bucket) else { throw error }
            return
        }
        guard let (_, byteCount, blobs) = measured else { return }
        let mapByteCountMax = options.mapByteCountMax
        var hasWaited = false
        while true {
            let sizes = try sizes(of: byteCount)
            var absentCount = 0
            let obstruction: Obstruction
            if byteCount > mapByteCountMax {
                obstruction = .exceedsMap
            } else if sizes.needed <= sizes.available {
                // Else the disk says that there is room, and there was none.
                if hasWaited { return }
                obstruction = sizes.needed > mapByteCountMax ? .exceedsMap : .isRefused
            } else if sizes.lacking > 0 {
                obstruction = .lacksSpace
            } else {
                absentCount = try LongBlobs.absent(blobs, on: bucket).count
                if absentCount == 0, try removeOld(sizes) { return }
                obstruction = absentCount > 0 ? .mayHaveOnlyCopies : .cannotRemoveOld
            }
            if obstruction != said {
                host.log(
                    .critical,
                    advice(obstruction, sizes, manifest, absentCount: absentCount))
                said = obstruction
            }
            if host.wait(milliseconds: interval) { throw StoppedAtStart() }
            // To look at the space costs nothing; to find out whether a disk takes it, all of the base.
            interval = min(
                2 * interval,
                obstruction == .isRefused
                    ? ReplicationLimits.refusedRoomLookMillisecondsMax
                    : ReplicationLimits.roomLookMillisecondsMax)
            if obstruction == .isRefused || isOutdated(manifest, newest: newest, on: bucket) {
                return
            }
            hasWaited = obstruction != .exceedsMap
        }
    }

    private mutating func measure(_ manifest: BaseManifest, on bucket: any Bucket) throws {
        guard measured?.base != manifest else { return }
        let (byteCount, blobs) = try Seeder.size(
            of: manifest, leavesBlobs: host.settings.localByteCountMax != nil, on: bucket)
        measured = (manifest, byteCount, blobs)
        said = nil
    }

    /// Whether there is another base to begin with: a newer one, or this one is gone. One LIST. A bucket that is away says
    /// nothing of that.
    private func isOutdated(
        _ manifest: BaseManifest, newest: UInt64, on bucket: any Bucket
    ) -> Bool {
        guard let numbers = try? BaseManifest.numbers(on: bucket) else { return false }
        return numbers.last ?? 0 > newest || !numbers.contains(manifest.position.number)
    }

    /// Returns whether the old store is removed: a disk may have no room even for the empty one in its place.
    private mutating func removeOld(_ sizes: Sizes) throws(StoreError) -> Bool {
        guard let epoch else { return false }
        if said != .cannotRemoveOld {
            host.log(
                .warning,
                "\(directory) has no room for two stores (\(sizes.available) bytes are free, and about \(sizes.needed) are needed): removing the old one (\(sizes.old) bytes), which must be rebuilt, before the new one is built"
            )
        }
        do throws(StoreError) {
            try BlobStore.empty(directory, options: options, epoch: epoch, asOf: host.now)
        } catch {
            guard case .full = error else { throw error }
            return false
        }
        hasRemovedOld = true
        return true
    }

    private func sizes(of byteCount: Int) throws -> Sizes {
        guard let available = BlobStore.availableByteCount(in: directory) else {
            throw ReplicaFailure(
                description: "cannot find out how much space \(directory) has (statvfs)")
        }
        return Sizes(
            needed: byteCount + byteCount / 16 + ReplicationLimits.seedRoomByteCount,
            available: available,
            // What is left of it takes as much as an empty one.
            old: epoch == nil || hasRemovedOld
                ? 0 : BlobStore.allocatedByteCount(of: directory))
    }

    private func advice(
        _ obstruction: Obstruction, _ sizes: Sizes, _ manifest: BaseManifest, absentCount: Int
    ) -> String {
        let base =
            "The store from the base after segment \(manifest.position.number) needs about \(sizes.needed) bytes, and \(directory) has \(sizes.available) free"
        switch obstruction {
        case .mayHaveOnlyCopies:
            return
                "\(base). The old store (\(sizes.old) bytes) stays, since the bucket lacks \(absentCount) payloads that it may have: free \(sizes.needed - sizes.available) bytes, or have the leader upload them again (after its next base). This daemon waits for either"
        case .cannotRemoveOld:
            return
                "\(base), too few even to remove the old store (\(sizes.old) bytes): free \(ReplicationLimits.seedRoomByteCount) bytes. This daemon waits for the space"
        case .exceedsMap:
            return
                "The store from the base after segment \(manifest.position.number) may take \(sizes.needed) bytes, more than --map-size (\(options.mapByteCountMax)): raise it, and start this daemon again. Until then it waits for a base that needs less"
        case .isRefused:
            return
                "\(base), but writing failed: look for errors of the disk in the kernel's log (dmesg), a quota, a limit on the size of files, and the number of files (df -i). This daemon tries again, ever less often, but at least every \(ReplicationLimits.refusedRoomLookMillisecondsMax / 60_000) minutes: start it again when that is mended"
        case .lacksSpace:
            let old = sizes.old > 0 ? " beside the old store's \(sizes.old)" : ""
            return
                "\(base)\(old): free \(sizes.lacking) bytes, move the folder to a larger disk, or leave long payloads in the bucket with --local-bytes. This daemon waits for the space, or for a base that needs less"
        }
    }
}
