import BlobStore
import Logging
import Replication

/// The threads that fetch payloads from the bucket: evicted ones on request, and damaged ones.
final class FetchThreads: Sendable {
    static let count = 4
    /// The number of threads if nothing is evicted: they repair damaged payloads.
    static let repairCount = 1

    private let context: ShardContext
    private let fetches: BlobFetches

    init(_ context: ShardContext) throws(SystemError) {
        self.context = context
        fetches = context.replica.fetches
        for index in 0..<fetches.threadCount {
            try fetches.threads.start("blobd-fetch-\(index)") { [self] in run() }
        }
    }

    func close() { fetches.threads.close() }

    private func run() {
        var log = RateLimitedLog(context.log)
        var bucket: (any Bucket)?
        // One signal wakes one thread, which wakes the next at the end.
        defer { fetches.threads.wake() }
        while !fetches.threads.isClosing {
            guard let blob = fetches.next() else {
                fetches.threads.wait(milliseconds: -1)
                continue
            }
            do {
                let reached = try bucket ?? context.access.makePayloadBucket()
                bucket = reached
                try fetch(blob, from: reached)
                fetches.finish(blob, nil, asOf: .now)
            } catch {
                log.note(
                    .error, "Cannot fetch \(blob.digest) from \(context.access.name): \(error)")
                fetches.finish(blob, "cannot fetch it from the bucket: \(error)", asOf: .now)
            }
        }
    }

    /// Fetches, checks and stores a payload. For a short one, which is damaged, does so for all damaged short ones.
    private func fetch(_ blob: BlobReference, from bucket: any Bucket) throws {
        let store = context.store
        guard blob.isShippedWithBatch else {
            let bytes = try LongBlobs.bytes(of: blob, in: store.id, on: bucket)
            return try putBack(blob, bytes, bucket)
        }
        let damaged = store.quarantinedBlobs.filter(\.isAmongOthers).map(\.blob)
        var isFound = false
        try ShortBlobs.find(damaged, in: store.id, on: bucket) { found, bytes in
            if found == blob { isFound = true }
            try putBack(found, bytes, bucket)
        }
        guard isFound else {
            throw ReplicaFailure(description: "no base or segment contains its bytes")
        }
    }

    private func putBack(
        _ blob: BlobReference, _ bytes: [UInt8], _ bucket: any Bucket
    ) throws {
        let end = Instant.now.after(milliseconds: BlobFetches.waitMilliseconds)
        while !fetches.threads.isClosing {
            let (wasDamaged, outcome) = try context.writer.write { (store) throws(StoreError) in
                try store.quarantineIfDamaged(blob, asOf: .now)
                let wasDamaged = store.isDamaged(blob)
                let outcome = try store.putBack(
                    blob, bytes, bootMilliseconds: .bootMilliseconds)
                return (wasDamaged, outcome)
            }
            if outcome == .stored, wasDamaged {
                context.log.notice(
                    "Repaired \(blob.digest) with its bytes from \(context.access.name)")
            }
            guard outcome == .later else { return }
            guard Instant.now < end else {
                throw ReplicaFailure(description: "its damaged pages are still being sent")
            }
            // Snapshots that contain what is being removed are open for a moment.
            try bucket.pause(beforeRetrying: 0)
        }
    }
}
