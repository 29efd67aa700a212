import TestSupport
import Testing

@testable import BlobStore

/// Limits of how much a store and each owner may have. What fits and what does not is the model's to say.
@Suite struct QuotaTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.openLogging() }

    private func set(_ change: (inout Quotas) -> Void) {
        var quotas = Quotas()
        change(&quotas)
        store.setQuotas(quotas)
    }

    private func publish(_ id: String, _ bytes: [UInt8]) throws -> Outcome {
        try store.apply([.publish(try store.publication(id, bytes))], asOf: noon)[0]
    }

    @Test("Blobs that are kept count for the store, and one that is written ahead is not begun")
    func holds() throws {
        set { $0.byteCountMax = 1_000 }
        let kept = try store.prepare(Self.bytes(1_000, 1))
        let more = try store.prepare(Self.bytes(1, 2))
        let outcomes = try store.apply(
            [
                .hold(BlobHold(kept, seconds: 60)), .hold(BlobHold(more, seconds: 60)),
                .hold(BlobHold(kept, seconds: 90)),
            ], asOf: noon)
        #expect(outcomes.map(\.isDone) == [true, false, true])
        let orphans = try store.counters(withPending: true).orphanBlobs
        #expect(try publish("a", Self.bytes(20_000_000, 3)).error?.isQuota == true)
        let large = try store.prepare(Self.bytes(20_000_000, 4))
        #expect(
            try store.apply([.hold(BlobHold(large, seconds: 9))], asOf: noon)[0].error?.isQuota
                == true)
        #expect(try store.counters(withPending: true).orphanBlobs == orphans)
    }

    @Test("Nothing grows while the file system has too little")
    func freeDisk() throws {
        #expect(try publish("a", Self.bytes(10, 1)).isDone)
        set { $0.freeDiskByteCountMin = 1 << 59 }
        let error = try publish("b", [2]).error
        guard case .quotaExceeded(let excess) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(excess.setting == .freeDiskByteCountMin && excess.limit == 1 << 59)
        #expect(excess.used == store.freeDiskByteCount || excess.used > 0)
        #expect(throws: StoreError.self) { try store.checkWritable() }
        #expect(try publish("a", Self.bytes(9, 2)).isDone)
        #expect(try store.delete("a", asOf: noon))
        set { $0.freeDiskByteCountMin = 1 }
        #expect(try publish("b", [2]).isDone)
        try store.checkWritable()
    }

    @Test("Whether a publish would be refused is known before")
    func writable() throws {
        set { $0.byteCountMax = 100 }
        #expect(try publish("a", Self.bytes(90, 1)).isDone)
        try store.checkWritable()
        try store.checkWritable(byteCount: 10)
        #expect(try failure { try store.checkWritable(byteCount: 11) }.isQuota)
        set { $0.notificationCountMax = 1 }
        #expect(try failure { try store.checkWritable() }.isQuota)
        set { $0.ownerNotificationCountMax = 1 }
        try store.checkWritable()
    }

    static func bytes(_ count: Int, _ kind: UInt8) -> [UInt8] {
        var generator = SeededGenerator(seed: UInt64(kind))
        return generator.bytes(count)
    }
}

extension StoreError {
    var isQuota: Bool { if case .quotaExceeded = self { true } else { false } }
}

extension BlobStore {
    /// The counters, with what is in the log alone.
    func counters(withPending: Bool) throws -> Counters {
        withPending ? try pipeline.counters() : try counters()
    }
}
