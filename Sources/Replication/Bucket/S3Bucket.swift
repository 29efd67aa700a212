internal import Bytes
package import ObjectStore
internal import Synchronization

/// A shard's place in an S3-compatible bucket. It belongs to one thread, and has one connection; others for
/// ``forEach(_:_:)``, from its first use on.
package final class S3Bucket: Bucket {
    private let bucket: ObjectBucket
    private let client: ObjectClient
    private var helpers: [S3Bucket] = []
    private let stop: StopSignal
    private let onMoved: (@Sendable (Int) -> Void)?

    /// Pages without names that are followed to the next one.
    private static let emptyPageCountMax = 100

    /// - Parameter onMoved: is called with how many bytes of a body were sent or received, now and then: by this thread, or
    ///   by several at the same time.
    package init(
        _ bucket: ObjectBucket, stop: StopSignal, onMoved: (@Sendable (Int) -> Void)? = nil
    ) throws(ReplicationError) {
        self.onMoved = onMoved
        self.bucket = bucket
        self.stop = stop
        do throws(ObjectStoreError) {
            client = try bucket.makeClient(stop: stop, onMoved: onMoved)
        } catch {
            throw ReplicationError(error)
        }
    }

    package func create(
        _ name: String, _ bytes: [UInt8]
    ) throws(ReplicationError) -> CreateOutcome {
        try ask { () throws(ObjectStoreError) in try client.create(name, bytes.span.bytes) }
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(ReplicationError) {
        try ask { () throws(ObjectStoreError) in try client.put(name, bytes.span.bytes) }
    }

    package func get(
        _ name: String, byteCountMax: Int
    ) throws(ReplicationError) -> [UInt8]? {
        do throws(ObjectStoreError) {
            return try client.get(name, byteCountMax: byteCountMax)
        } catch {
            guard error.kind == .tooLarge else { throw ReplicationError(error) }
            throw .damaged(name: name, why: "has more than \(byteCountMax) bytes")
        }
    }

    package func list(_ prefix: String, after name: String) throws(ReplicationError) -> ListPage {
        // A page without names that is not the last one is allowed, and is not the end.
        var position: ObjectListPosition?
        for _ in 0..<Self.emptyPageCountMax {
            let page = try ask { () throws(ObjectStoreError) in
                try client.list(prefix, startAfter: name.isEmpty ? nil : name, from: position)
            }
            position = page.next
            guard page.objects.isEmpty, position != nil else {
                return ListPage(
                    page.objects.map { ListPage.Object(name: $0.key, byteCount: $0.byteCount) },
                    isLast: position == nil)
            }
        }
        throw .bucket("list \(prefix): \(Self.emptyPageCountMax) empty pages")
    }

    package func delete(_ name: String) throws(ReplicationError) {
        try ask { () throws(ObjectStoreError) in try client.delete(name) }
    }

    package func pause(beforeRetrying attempt: Int) throws(ReplicationError) {
        var backoff = Backoff(attemptCount: attempt)
        guard !stop.wait(milliseconds: backoff.next()) else { throw .stopped }
    }

    package func forEach(_ count: Int, _ body: @Sendable (Int, any Bucket) throws -> Void) throws {
        let helperCount = min(count, ObjectStoreLimits.connectionCountMax) - 1
        while helpers.count < helperCount,
            let helper = try? S3Bucket(bucket, stop: stop, onMoved: onMoved)
        {
            helpers.append(helper)
        }
        let round = SharedRound(count: count)
        withoutActuallyEscaping(body) { body in
            // Fewer, where the system gives no more threads: this one continues in any case.
            let threads = helpers.prefix(max(0, helperCount)).compactMap { helper in
                // Only its thread uses it until that is joined.
                nonisolated(unsafe) let helper = helper
                return ClientThread { round.run(on: helper, body) }
            }
            round.run(on: self, body)
            for thread in threads { thread.join() }
        }
        if let error = round.error { throw error }
    }

    private func ask<Answer>(
        _ body: () throws(ObjectStoreError) -> Answer
    ) throws(ReplicationError) -> Answer {
        do throws(ObjectStoreError) { return try body() } catch { throw ReplicationError(error) }
    }
}

extension ReplicationError {
    fileprivate init(_ error: ObjectStoreError) {
        switch error.kind {
        case .stopped: self = .stopped
        default: self = .bucket(error.description, isLasting: !error.isTransient)
        }
    }
}

/// Numbers that several threads take, one after the other, until there are no more or one has failed.
private final class SharedRound: Sendable {
    private let count: Int
    private let next = Atomic(0)
    private let failure = Mutex<(any Error)?>(nil)

    init(count: Int) { self.count = count }

    var error: (any Error)? { failure.withLock { $0 } }

    func run(on bucket: any Bucket, _ body: (Int, any Bucket) throws -> Void) {
        while error == nil {
            let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
            guard index < count else { return }
            do { try body(index, bucket) } catch { failure.withLock { $0 = $0 ?? error } }
        }
    }
}
