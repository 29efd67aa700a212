internal import BlobStore

extension ReplicaHost {
    /// Makes the store know what it is about to create in the bucket, before that is created.
    func prepareToLead() throws(StoreError) -> Nonce {
        let (nonce, now) = (Nonce.random(), now)
        return try write { (store) throws(StoreError) in
            try store.prepareToLead(nonce: nonce, asOf: now)
        }
    }

    /// Puts a fence for a store, which leads when it has all before that.
    func takeOver(
        _ store: BlobStore, _ nonce: Nonce, hasTried: Bool, deposes: Bool,
        _ log: inout LogFollower, on bucket: any Bucket, sequence: () -> UInt64,
        isLate: () -> Bool = { false }, isOver: () -> Bool = { false },
        apply: (Segment) throws -> Bool
    ) throws -> TakeOver.Outcome {
        try TakeOver(
            storeID: store.id, nonce: nonce, host: settings.hostName, hasTried: hasTried
        ).run(
            deposes: deposes, &log, of: store.replicationState?.epoch ?? 0, on: bucket,
            sequence: sequence, asOf: now, isLate: isLate, isOver: isOver, apply: apply)
    }

    /// Makes the store lead, when it has all before its fence.
    func lead(_ writer: LogWriter, _ nonce: Nonce, beginsLogging: Bool) throws(StoreError) {
        let now = now
        try write { (store) throws(StoreError) in
            try store.lead(
                epoch: writer.epoch, nonce: nonce, after: writer.position, isFirst: false,
                asOf: now)
            if beginsLogging { try? store.beginLogging() }
        }
        self.log(.notice, "Leading epoch \(writer.epoch) of \(settings.shardName)")
        noteLeader(settings.hostName)
        become(.ships(epoch: writer.epoch))
    }
}
