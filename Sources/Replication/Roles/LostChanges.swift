internal import BlobStore
internal import Glibc

/// What a leader did and did not ship before another store took the lead: saved to files, and not merged.
enum LostChanges {
    struct Saved {
        let folder: String
        /// The last batch of it.
        let sequence: UInt64
    }

    /// Saves what waits to be shipped, in the form of segments and objects, below
    /// `DIR/unreplicated-epoch-N/`.
    ///
    /// - Returns: nil: nothing waits. Where it cannot be saved, nothing of it is left.
    static func save(_ store: BlobStore, _ host: any ReplicaHost) throws -> Saved? {
        guard let state = store.replicationState, store.lastSequence > state.sequence else {
            return nil
        }
        let (needed, available) = (
            store.unshippedByteCount, BlobStore.availableByteCount(in: store.directory)
        )
        if let available, available < needed {
            throw ReplicaFailure(
                description:
                    "cannot save \(needed) bytes of unreplicated changes in \(store.directory), which has \(available) free: free \(needed - available) bytes there. Until then this daemon takes no changes"
            )
        }
        // Never over what an earlier rollback of the same epoch saved.
        let first = "\(store.directory)/\(UnreplicatedFolders.prefix)\(state.epoch)"
        var folder = first
        var number = 1
        while access(folder, F_OK) == 0 {
            number += 1
            folder = "\(first)-\(number)"
        }
        let files = LostFiles(folder)
        do {
            return try save(store, host, to: files, state)
        } catch {
            files.remove()
            throw error
        }
    }

    private static func save(
        _ store: BlobStore, _ host: any ReplicaHost, to files: LostFiles, _ state: ReplicationState
    ) throws -> Saved {
        try files.begin()
        var position = state.position
        var last = state.sequence
        while true {
            let batches = try store.outbox(
                after: last, byteCountMax: ReplicationLimits.segmentByteCount
            ).map { leavingOutLost($0, store, host) }
            guard let end = batches.last else { break }
            for blob in batches.flatMap(\.longBlobs) {
                let object = BlobObject.bytes(blob, try store.storedBytes(of: blob), store.id)
                try files.write(ShardNames.blob(blob), object)
            }
            let items = try Segment.items(of: batches) { try store.storedBytes(of: $0) }
            let segment = Segment(
                Segment.Head(
                    kind: .batches, storeID: store.id, epoch: state.epoch, nonce: state.nonce,
                    previous: position, sequence: end.sequence, time: host.now), items)
            try files.write(ShardNames.log(segment.head.number), segment.bytes)
            position = segment.position
            last = end.sequence
        }
        try files.finish()
        host.log(
            .critical,
            "\(last - state.sequence) batches of acknowledged changes were not replicated: they are saved in \(files.folder), and are not part of the shard"
        )
        return Saved(folder: files.folder, sequence: last)
    }

    /// The batch without the bytes that cannot be read: the rest is saved all the same.
    private static func leavingOutLost(
        _ batch: ReplicatedBatch, _ store: BlobStore, _ host: any ReplicaHost
    ) -> ReplicatedBatch {
        var batch = batch
        for blob in batch.shippedBlobs + batch.longBlobs {
            do {
                _ = try store.storedBytes(of: blob)
            } catch {
                host.log(
                    .error, "Cannot save \(blob.digest) with the unreplicated changes: \(error)")
                batch = batch.marking(absent: blob.number) ?? batch
            }
        }
        return batch
    }
}

private final class LostFiles {
    let folder: String
    private var names: [String] = []

    init(_ folder: String) { self.folder = folder }

    func begin() throws(ReplicaFailure) {
        for name in ["", "/log", "/blob"] where mkdir(folder + name, 0o750) != 0 && errno != EEXIST
        {
            throw Self.failure("mkdir", folder + name)
        }
    }

    private static func failure(_ call: String, _ path: String) -> ReplicaFailure {
        ReplicaFailure(
            description: "cannot save unreplicated changes: \(call) \(path): errno \(errno)")
    }

    func write(_ name: String, _ bytes: [UInt8]) throws(ReplicaFailure) {
        let path = "\(folder)/\(name)"
        names.append(name)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw Self.failure("open", path) }
        defer { close(descriptor) }
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress?.advanced(by: offset), $0.count - offset)
            }
            guard count > 0 else { throw Self.failure("write", path) }
            offset += count
        }
        guard fsync(descriptor) == 0 else { throw Self.failure("fsync", path) }
    }

    /// What fills the disk is not tried again beside itself.
    func remove() {
        for name in names { unlink("\(folder)/\(name)") }
        for name in ["/blob", "/log", ""] { rmdir(folder + name) }
    }

    /// Makes the names survive a power cut.
    func finish() throws(ReplicaFailure) {
        for name in ["/log", "/blob", "", "/.."] {
            let descriptor = open(folder + name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Self.failure("open", folder + name) }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else { throw Self.failure("fsync", folder + name) }
        }
    }
}
