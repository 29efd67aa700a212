internal import Synchronization

/// The options of a store that may change while it is open. Each is read once for what it limits: a
/// payload, a transaction, a step of maintenance.
final class AdjustableOptions: Sendable {
    private let payload: Atomic<Int>
    private let retention: Atomic<Int64>
    private let freeAllocated: Atomic<Int>

    init(_ options: StoreOptions) {
        payload = Atomic(options.payloadByteCountMax)
        retention = Atomic(options.tombstoneRetentionMilliseconds)
        freeAllocated = Atomic(options.freeAllocatedByteCountMin)
    }

    /// Bytes of one payload.
    var payloadByteCountMax: Int { payload.load(ordering: .relaxed) }
    /// How long a deletion is remembered, in milliseconds.
    var tombstoneRetentionMilliseconds: Int64 { retention.load(ordering: .relaxed) }
    /// Free pages stay allocated up to so many bytes.
    var freeAllocatedByteCountMin: Int { freeAllocated.load(ordering: .relaxed) }

    /// Takes them from `options`. Its other ones change nothing.
    func adjust(to options: StoreOptions) {
        payload.store(options.payloadByteCountMax, ordering: .relaxed)
        retention.store(options.tombstoneRetentionMilliseconds, ordering: .relaxed)
        freeAllocated.store(options.freeAllocatedByteCountMin, ordering: .relaxed)
    }
}
