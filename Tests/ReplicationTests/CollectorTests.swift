import Replication
import SnapshotHook
import TestSupport
import Testing

@testable import BlobStore

/// What the collector deletes is garbage, whatever happens to the store while it is read.
@Suite struct CollectorTests {
    private static let bytes = SeededGenerator.bytes(300_000, seed: 7)

    /// A leader with an evicted payload that its only base has.
    private func leader(_ objects: MemoryObjects) throws -> (Member, blob: BlobReference) {
        let leader = try Member("one", objects)
        try leader.begin()
        try leader.store.put("id", Self.bytes)
        try leader.ship()
        try leader.writeBase()
        let blob = try #require(try leader.store.record(for: "id", asOf: noon)).parts[0].blob
        #expect(try leader.evict() == 1)
        return (leader, blob)
    }

    /// The only copy of a live payload was deleted. Its bytes had been published again when the collector read the
    /// blobs, so that it found another blob; and were deleted when it read those that give way, so that the first blob
    /// was back among the others.
    @Test("A payload keeps its object while its bytes are published again and deleted")
    func goesBack() throws {
        let count = try collect(publishingAt: 0, deletingAt: 0)
        #expect(count > 0)
        for publication in 0...count {
            for deletion in publication...count {
                try collect(publishingAt: publication, deletingAt: deletion)
            }
        }
    }

    /// Collects, and publishes the bytes again before one of the snapshots that are read (0: before all), and deletes
    /// that before a later one.
    ///
    /// - Returns: how many snapshots were read.
    @discardableResult
    private func collect(publishingAt publication: Int, deletingAt deletion: Int) throws -> Int {
        let objects = MemoryObjects()
        let (leader, blob) = try leader(objects)
        let store = leader.store
        func publish() throws { try store.put("again", Self.bytes) }
        if publication == 0 { try publish() }
        let number = try #require(try BaseManifest.numbers(on: leader.bucket).last)
        let base = try BaseManifest.read(number, on: leader.bucket)
        var count = 0
        var collector = try beforeEachSnapshot {
            count += 1
            if count == publication { try publish() }
            if count == deletion { try store.delete("again", asOf: noon) }
        } run: {
            try BlobCollector(store, epoch: 1, KeptBases(oldest: base, newest: base))
        }
        while try collector.step(on: leader.bucket) {}
        #expect(collector.deletedCount == 0, "published at \(publication), deleted at \(deletion)")
        #expect(objects[ShardNames.blob(blob)] != nil)
        #expect(try leader.fetch(blob) == .stored)
        #expect(try store.get("id") == Self.bytes)
        return count
    }

    private final class Hook {
        let act: () throws -> Void
        var error: (any Error)?

        init(_ act: @escaping () throws -> Void) { self.act = act }
    }

    private func beforeEachSnapshot<Value>(
        _ act: @escaping () throws -> Void, run body: () throws -> Value
    ) throws -> Value {
        let hook = Hook(act)
        snapshot_hook_set(
            { context in
                guard let context else { return }
                let hook = Unmanaged<Hook>.fromOpaque(context).takeUnretainedValue()
                do { try hook.act() } catch { hook.error = hook.error ?? error }
            }, Unmanaged.passUnretained(hook).toOpaque())
        defer { withExtendedLifetime(hook) { snapshot_hook_set(nil, nil) } }
        let value = try body()
        if let error = hook.error { throw error }
        return value
    }

    // What cannot be read was stepped over: the object of a payload that is live would have been garbage.
    @Test("A payload keeps its object where the note that it gave way is damaged")
    func damagedNote() throws {
        let (leader, blob) = try leader(MemoryObjects())
        let store = leader.store
        try store.put("again", Self.bytes)
        try store.pipeline.change(isPublishing: false) { (transaction) throws(StoreError) in
            let key = IndexKeys.quarantine(blob.number)
            try transaction.transaction.set(
                key.span.bytes, to: [1, 2, 3].span.bytes, in: store.core.tables.index)
        }
        #expect(try store.longBlobNumbers(retiredAfter: 0).contains(blob.number))
    }
}
