internal import Bytes
package import ObjectStore

/// A shard's place in an S3-compatible bucket. It belongs to one thread, and has one connection; others for
/// ``forEach(_:_:)``, from its first use on.
package final class S3Bucket: Bucket {
    private let bucket: ObjectBucket
    private let client: ObjectClient
    private var helpers: [S3Bucket] = []
    private let stop: StopSignal

    /// Pages without names that are followed to the next one.
    private static let emptyPageCountMax = 100

    /// A client of a bucket, whose counters and clock it shares with others.
    ///
    /// - Parameters:
    ///   - bucket: where the shard is.
    ///   - stop: ends all requests and waits.
    /// - Throws: where libcurl is missing.
    package init(_ bucket: ObjectBucket, stop: StopSignal) throws(BucketError) {
        self.bucket = bucket
        self.stop = stop
        do throws(ObjectStoreError) { client = try bucket.makeClient(stop: stop) } catch {
            throw BucketError(error)
        }
    }

    /// A client of a bucket that has no others.
    package convenience init(
        url: ObjectStoreURL, access: ObjectStoreAccess, stop: StopSignal
    ) throws(BucketError) {
        try self.init(ObjectBucket(url, access: access), stop: stop)
    }

    package func create(
        _ name: String, _ bytes: [UInt8]
    ) throws(BucketError) -> CreateOutcome {
        try ask { () throws(ObjectStoreError) in try client.create(name, bytes.span.bytes) }
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(BucketError) {
        try ask { () throws(ObjectStoreError) in try client.put(name, bytes.span.bytes) }
    }

    package func get(
        _ name: String, byteCountMax: Int
    ) throws(BucketError) -> [UInt8]? {
        switch try ask({ () throws(ObjectStoreError) in
            try client.get(name, byteCountMax: byteCountMax)
        }) {
        case .found(let bytes): bytes
        case .absent: nil
        }
    }

    package func list(_ prefix: String, after name: String) throws(BucketError) -> [String] {
        // A page without names that is not the last one is allowed, and is not the end.
        var position: ObjectListPosition?
        for _ in 0..<Self.emptyPageCountMax {
            let page = try ask { () throws(ObjectStoreError) in
                try client.list(prefix, startAfter: name.isEmpty ? nil : name, from: position)
            }
            position = page.next
            guard page.objects.isEmpty, position != nil else { return page.objects.map(\.key) }
        }
        throw BucketError("list \(prefix): \(Self.emptyPageCountMax) empty pages")
    }

    package func delete(_ name: String) throws(BucketError) {
        try ask { () throws(ObjectStoreError) in try client.delete(name) }
    }

    package func pause(beforeRetrying attempt: Int) throws(BucketError) {
        var backoff = Backoff(attemptCount: attempt)
        guard !stop.wait(milliseconds: backoff.next()) else {
            throw BucketError("stopped", isStop: true)
        }
    }

    package func forEach<Failure: Error>(
        _ count: Int, _ body: @Sendable (Int, any Bucket) throws(Failure) -> Void
    ) throws(Failure) {
        let helperCount = min(count, ObjectStoreLimits.connectionCountMax) - 1
        while helpers.count < helperCount, let helper = try? S3Bucket(bucket, stop: stop) {
            helpers.append(helper)
        }
        let round = SharedRound<Failure>(count: count)
        withoutActuallyEscaping(body) { body in
            // Fewer, where the system gives no more threads: this one goes on in any case.
            let threads = helpers.prefix(max(0, helperCount)).compactMap { helper in
                // Its thread alone uses it until that is joined.
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
    ) throws(BucketError) -> Answer {
        do throws(ObjectStoreError) { return try body() } catch { throw BucketError(error) }
    }
}

extension BucketError {
    /// The same error, as replication sees it.
    package init(_ error: ObjectStoreError) {
        self.init(
            error.description, isStop: error.kind == .stopped,
            isLasting: !error.isTransient && error.kind != .stopped)
    }
}
