import BlobStore

/// What `/v1/replication` answers: what this daemon is in its shard, and how far it is.
struct ReplicationDocument {
    private let store: BlobStore
    private let replica: ReplicaStatus

    init(_ store: BlobStore, _ replica: ReplicaStatus) {
        self.store = store
        self.replica = replica
    }

    /// The figures; of a daemon that is not replicated, the role alone.
    var numbers: NumbersDocument {
        var document = NumbersDocument()
        document.add("role", replica.role.name)
        guard let state = store.replicationState else { return document }
        document.add("shard", replica.options.shard ?? "")
        document.add("leader", replica.leader)
        document.add("epoch", Int(clamping: state.epoch))
        document.add("segment", Int(clamping: state.position.number))
        document.add("sequence", Int(clamping: store.lastSequence))
        document.add("shipped_sequence", Int(clamping: store.shippedSequence))
        document.add("unreplicated_bytes", max(0, store.unshippedByteCount))
        document.add("lag_milliseconds", replica.lagMilliseconds(asOf: .now))
        if let evicted = try? store.evictedBlobs() {
            document.add("evicted_payloads", evicted.blobs)
            document.add("evicted_bytes", evicted.bytes)
        }
        return document
    }
}
