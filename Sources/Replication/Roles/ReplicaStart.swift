package import BlobStore
internal import Glibc

/// What is found out, and done, before a host of a shard begins to serve: whether its store leads, follows,
/// or must be rebuilt.
package struct ReplicaStart {
    private let directory: String
    private let storeOptions: StoreOptions
    private let host: any ShardHost
    private let open: () throws -> BlobStore

    /// - Parameters:
    ///   - directory: where the store is, or will be.
    ///   - storeOptions: for a store that is made of a base.
    ///   - open: opens the store.
    package init(
        _ directory: String, _ storeOptions: StoreOptions, _ host: any ShardHost,
        open: @escaping () throws -> BlobStore
    ) {
        self.directory = directory
        self.storeOptions = storeOptions
        self.host = host
        self.open = open
    }

    /// The store, which leads or follows. Of one that does already nothing is asked of the bucket: a daemon
    /// starts, and serves, also while the bucket is away.
    package func run(on bucket: any Bucket) throws -> BlobStore {
        if hasStore, let store = try openedStore(on: bucket) { return store }
        if !hasStore, host.settings.mayBegin {
            let store = try open()
            try begin(store, on: bucket)
            return store
        }
        try seed(
            why: hasStore ? "its history is not the shard's any more" : "there is none yet",
            on: bucket)
        return try open()
    }

    private var hasStore: Bool { Glibc.access("\(directory)/data.mdb", F_OK) == 0 }

    /// The store that is there; nil where it must be rebuilt. Its files are closed then.
    private func openedStore(on bucket: any Bucket) throws -> BlobStore? {
        let store = try open()
        guard let state = store.replicationState else {
            guard host.settings.mayBegin else {
                throw ReplicaFailure(
                    description:
                        "\(directory) has a store that belongs to no shard: give --follow an empty --data, or begin a shard with --replicate"
                )
            }
            try begin(store, on: bucket)
            return store
        }
        guard case .deposed = state.role else { return store }
        return nil
    }

    // MARK: - Beginning a shard

    private func begin(_ store: BlobStore, on bucket: any Bucket) throws {
        let name = host.settings.shardName
        // Where conditional creates are not kept, the first one would replace what another store has there.
        if try !ShardCheck.hasShard(of: store, host, on: bucket) {
            try host.requireConditionalCreates()
            let document = StoreDocument(storeID: store.id.description)
            try bucket.createRepeatedly(ShardNames.store, document.bytes)
        }
        try ShardCheck.run(store, host, on: bucket)
        // A leader lists, too: who may not is told now.
        _ = try Epochs.newest(on: bucket)
        let nonce = Nonce.random()
        let epoch = EpochDocument(
            storeID: store.id.description, nonce: nonce, host: host.settings.hostName,
            time: host.now)
        guard try Epochs.create(1, epoch, on: bucket) != nil else {
            throw ReplicaFailure(
                description:
                    "\(name) was begun by another run of this store: use another prefix, or where it has a leader --follow and an empty --data"
            )
        }
        try store.lead(epoch: 1, nonce: nonce, behind: .start, isFirst: true, asOf: host.now)
        host.log(.notice, "Began the shard \(name)")
    }

    // MARK: - Seeding

    /// How often the first base is looked for.
    private static let baseLookMilliseconds = 500

    /// The newest base. A leader writes its first one when it starts, which is waited for.
    private func newestBase(on bucket: any Bucket) throws -> UInt64? {
        let end = host.uptime + Int64(ReplicationLimits.firstBaseMilliseconds)
        var hasSaid = false
        while true {
            if let number = try Seeder.bases(on: bucket).last { return number }
            guard host.uptime < end else { return nil }
            if !hasSaid { host.log(.notice, "Waiting for the first base of the leader") }
            hasSaid = true
            if host.wait(milliseconds: Self.baseLookMilliseconds) { throw StoppedAtStart() }
        }
    }

    private func seed(why: String, on bucket: any Bucket) throws {
        let document = try StoreDocument.read(on: bucket)
        guard let number = try newestBase(on: bucket) else {
            throw ReplicaFailure(
                description:
                    "\(host.settings.shardName) has no base yet: its leader writes one when it starts"
            )
        }
        let manifest = try BaseManifest.read(number, on: bucket)
        guard manifest.storeID == document.storeID else {
            throw ReplicationError.foreign(
                ShardNames.manifest(number), of: manifest.storeID, in: document.storeID)
        }
        host.log(
            .notice,
            "Making the store in \(directory) of the base behind segment \(number): \(why)")
        try Seeder.seed(
            directory, options: storeOptions, from: manifest,
            leavesBlobs: host.settings.localByteCountMax != nil, asOf: host.now, on: bucket)
    }
}
