import BlobStore
import Glibc
import Logging
import Replication

/// What is found out, and done, before a daemon of a shard begins to serve: whether its store leads,
/// follows, or must be made anew.
struct ReplicaStart {
    private let options: DaemonOptions
    private let open: () throws -> BlobStore
    private let storeOptions: StoreOptions
    private let access: ShardAccess
    private let bucket: any Bucket
    private let log: Logger

    /// - Parameters:
    ///   - storeOptions: for a store that is made of a base.
    ///   - open: opens the store.
    init(
        _ options: DaemonOptions, _ storeOptions: StoreOptions, _ access: ShardAccess, log: Logger,
        open: @escaping () throws -> BlobStore
    ) throws {
        self.options = options
        self.storeOptions = storeOptions
        self.access = access
        bucket = try access.makeBucket()
        self.log = log
        self.open = open
    }

    /// The store, which leads or follows. Of one that does already nothing is asked of the bucket: a daemon
    /// starts, and serves, also while the bucket is away.
    func run() throws -> BlobStore {
        if hasStore, let store = try openedStore() { return store }
        if !hasStore, options.replica.follow == nil {
            let store = try open()
            try begin(store)
            return store
        }
        try seed(why: hasStore ? "its history is not the shard's any more" : "there is none yet")
        return try open()
    }

    private var hasStore: Bool { Glibc.access("\(options.dataPath)/data.mdb", F_OK) == 0 }

    /// The store that is there; nil where it must be made anew. Its files are closed then.
    private func openedStore() throws -> BlobStore? {
        let store = try open()
        guard let state = store.replicationState else {
            guard options.replica.replicate != nil else {
                throw ReplicaFailure(
                    description:
                        "\(options.dataPath) has a store that belongs to no shard: give --follow an empty --data, or begin a shard with --replicate"
                )
            }
            try begin(store)
            return store
        }
        guard case .deposed = state.role else { return store }
        return nil
    }

    // MARK: - Beginning a shard

    private func begin(_ store: BlobStore) throws {
        // Where conditional creates are not kept, the first one would replace what another store has there.
        if try !ShardCheck.hasShard(of: store, access, on: bucket) {
            try access.probe()
            let document = StoreDocument(storeID: store.id.description)
            try bucket.createRepeatedly(ShardNames.store, document.bytes)
        }
        try ShardCheck.run(store, access, on: bucket)
        // A leader lists, too: who may not is told now.
        _ = try Epochs.newest(on: bucket)
        let nonce = Nonce.random()
        let epoch = EpochDocument(
            storeID: store.id.description, nonce: nonce, host: options.replica.hostName, time: .now)
        guard try Epochs.create(1, epoch, on: bucket) != nil else {
            throw ReplicaFailure(
                description:
                    "\(access.name) was begun by another run of this store: use another prefix, or where it has a leader --follow and an empty --data"
            )
        }
        try store.lead(epoch: 1, nonce: nonce, behind: .start, isFirst: true, asOf: .now)
        log.notice("Began the shard \(access.name)")
    }

    // MARK: - Seeding

    /// How often the first base is looked for.
    private static let baseLookMilliseconds = 500

    /// The newest base. A leader writes its first one when it starts, which is waited for.
    private func newestBase() throws -> UInt64? {
        let end = Instant.now.after(milliseconds: DaemonLimits.firstBaseMilliseconds)
        var hasSaid = false
        while true {
            if let number = try Seeder.bases(on: bucket).last { return number }
            guard Instant.now < end else { return nil }
            if !hasSaid { log.notice("Waiting for the first base of the leader") }
            hasSaid = true
            if access.wait(milliseconds: Self.baseLookMilliseconds) { throw StoppedAtStart() }
        }
    }

    private func seed(why: String) throws {
        let document = try StoreDocument.read(on: bucket)
        guard let number = try newestBase() else {
            throw ReplicaFailure(
                description:
                    "\(access.name) has no base yet: its leader writes one when it starts")
        }
        let manifest = try BaseManifest.read(number, on: bucket)
        guard manifest.storeID == document.storeID else {
            throw ReplicationError.foreign(
                ShardNames.manifest(number), of: manifest.storeID, in: document.storeID)
        }
        log.notice(
            "Making the store in \(options.dataPath) of the base behind segment \(number): \(why)")
        try Seeder.seed(
            options.dataPath, options: storeOptions, from: manifest,
            leavesBlobs: options.replica.localByteCountMax != nil, asOf: .now, on: bucket)
    }
}

extension ReplicaOptions {
    /// How this host is called.
    var hostName: String {
        if let name { return name }
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, 255) == 0 else { return "unknown" }
        return String(
            decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
