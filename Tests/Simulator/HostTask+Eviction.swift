import BlobStore
import Replication
import TestSupport

// What the threads of `--local-bytes` do.

extension Host {
    func stepEviction() throws -> Int {
        guard let store, let byteCountMax = settings.localByteCountMax else { return 1_000 }
        try advanceEviction(of: store)
        guard try store.usedByteCount() > byteCountMax else { return 1_000 }
        let found = try store.evictableBlobs(
            from: UInt64(world.chance.below(8)), byteCountMax: 1 << 20, lookingAt: 1_000
        ).blobs.filter { world.clock - (fetched[$0.number] ?? -20_000) > 10_000 }
        let evicted = try LongBlobs.inBucket(found, of: store, on: bucket)
        guard !evicted.isEmpty else { return 1_000 }
        if try store.beginEvicting(evicted, bootMilliseconds: world.clock) > 0 {
            world.sometimes("evicted")
        }
        // The rest is done now, or with the next step: as if snapshots were open.
        if world.chance.chance(50) { try advanceEviction(of: store) }
        return 1_000
    }

    private func advanceEviction(of store: BlobStore) throws {
        while store.isEvicting, store.canAdvanceEviction {
            _ = try store.advanceEviction()
            if world.chance.chance(10) { return }
        }
    }

    /// Asks for a payload that is evicted, or damaged here.
    func want(_ blob: BlobReference) {
        if !wanted.contains(blob) { wanted.append(blob) }
    }

    func stepFetches() throws -> Int {
        guard let store, let blob = wanted.first else { return 500 }
        wanted.removeFirst()
        let bytes = try LongBlobs.bytes(of: blob, in: store.id, on: bucket)
        let outcome = try store.putBack(blob, bytes, bootMilliseconds: world.clock)
        world.trace("\(name) puts \(blob.number) back: \(outcome)")
        switch outcome {
        case .later: want(blob)
        case .stored:
            fetched[blob.number] = world.clock
            world.sometimes("fetched a payload")
        case .gone: break
        }
        return wanted.isEmpty ? 500 : 5
    }
}
