import BlobStore

// Work between batches: removing expired notifications and freeing their chunks.

extension Subjects {
    private static let batchCount = 64

    static var maintenance: [Subject] {
        [
            Subject("publish 64 of 1 KiB", tolerancePercent: 10, isSlow: true) {
                try maintain { _, _ in }
            },
            Subject("publish 64, and sweep them", tolerancePercent: 10, isSlow: true) {
                try maintain { store, now in
                    guard try store.sweepExpired(asOf: now, limit: batchCount).expired > 0 else {
                        throw SubjectFailure(reason: "nothing was swept")
                    }
                }
            },
            Subject("publish 64, sweep and free them", tolerancePercent: 10, isSlow: true) {
                try maintain { store, now in
                    _ = try store.sweepExpired(asOf: now, limit: batchCount)
                    _ = try store.freeOrphans(byteCountMax: 8 << 20)
                }
            },
            Subject("look for what has expired, none has") {
                let fixture = try Fixture(count: 1_000, byteCount: 64)
                let store = try fixture.openForWriting()
                return { count in
                    for _ in 0..<count {
                        let swept = try store.sweepExpired(asOf: Fixture.now, limit: batchCount)
                        guard swept.expired == 0 else { throw SubjectFailure(reason: "swept") }
                    }
                    withExtendedLifetime(fixture) {}
                }
            },
        ]
    }

    /// Publishes a batch, and does something with the store at a time when it has expired.
    private static func maintain(
        _ then: @escaping @Sendable (BlobStore, Timestamp) throws -> Void
    ) throws -> Subject.Work {
        let fixture = try Fixture(count: 1_000, byteCount: 64)
        let store = try fixture.openForWriting()
        let given = Fixture.bytes(1_024, seed: 4)
        return { count in
            var bytes = given
            for step in 0..<count {
                let changes = try (0..<batchCount).map { index in
                    withUnsafeBytes(of: step * batchCount + index) {
                        bytes.replaceSubrange(0..<8, with: $0)
                    }
                    return Change.publish(
                        try Fixture.publication(
                            store, "brief-\(100 + index)", bytes, endsAfterSeconds: 60))
                }
                try Fixture.apply(changes, to: store)
                try then(store, Fixture.now.adding(seconds: 61))
            }
            withExtendedLifetime(fixture) {}
        }
    }
}
