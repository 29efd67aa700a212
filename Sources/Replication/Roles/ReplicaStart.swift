package import BlobStore
internal import Glibc

/// What is found out, and done, before a host of a shard begins to serve: whether its store leads, follows,
/// or must be rebuilt.
package struct ReplicaStart {
    private let directory: String
    private let storeOptions: StoreOptions
    private let host: any ShardHost
    private let open: () throws -> BlobStore

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
        var epoch: UInt64?
        if hasStore, let store = try openedStore(on: bucket, deposedIn: &epoch) { return store }
        if !hasStore, host.settings.mayBegin {
            // Before a store is made, which would be in the way of following that shard.
            _ = try ShardCheck.hasShard(of: nil, in: directory, host, on: bucket)
            let store = try open()
            try begin(store, on: bucket)
            return store
        }
        try seed(
            why: hasStore
                ? "its history has diverged from the shard" : "the directory contains no store yet",
            epoch, on: bucket)
        return try open()
    }

    private var hasStore: Bool { Glibc.access("\(directory)/data.mdb", F_OK) == 0 }

    /// The store that is there; nil where it must be rebuilt. Its files are closed then.
    private func openedStore(
        on bucket: any Bucket, deposedIn epoch: inout UInt64?
    ) throws -> BlobStore? {
        let store = try open()
        guard let state = store.replicationState else {
            guard host.settings.mayBegin else {
                throw ReplicaFailure(
                    description:
                        "\(directory) contains a store that belongs to no shard: use --follow with an empty --data, or begin a shard with --replicate"
                )
            }
            try begin(store, on: bucket)
            return store
        }
        guard case .deposed = state.role else { return store }
        epoch = state.epoch
        return nil
    }

    // MARK: - Beginning a shard

    private func begin(_ store: BlobStore, on bucket: any Bucket) throws {
        let name = host.settings.shardName
        // Where conditional creates are not kept, the first one would replace what another store has there.
        if try !ShardCheck.hasShard(of: store.id, in: directory, host, on: bucket) {
            guard try bucket.list(ShardNames.logPrefix, after: "").objects.isEmpty else {
                throw ReplicaFailure(
                    description:
                        "\(name) contains a log, but no \(ShardNames.store): start a host of its shard, which makes it again, or use another prefix"
                )
            }
            try host.requireConditionalCreates()
            _ = try StoreDocument.makeAgain(of: store.id, on: bucket)
        }
        try ShardCheck.run(store, host, on: bucket)
        // It may have been begun before, by a host that was interrupted and did nothing in it.
        var log = LogFollower(storeID: store.id, after: .start)
        let (nonce, now) = (Nonce.random(), host.now)
        let takeOver = TakeOver(storeID: store.id, nonce: nonce, host: host.settings.hostName)
        let other = ReplicaFailure(
            description:
                "\(name) was begun by another run of this store: use another prefix, or if it has a leader, --follow with an empty --data"
        )
        let outcome: TakeOver.Outcome
        do {
            outcome = try takeOver.run(
                deposes: true, &log, of: 0, on: bucket, sequence: { 0 }, asOf: now
            ) { segment in segment.head.kind == .fence }
        } catch ReplicationError.tooOld { throw other }
        if case .unknown(let error) = outcome { throw error }
        guard case .leads(let writer) = outcome else { throw other }
        try store.lead(
            epoch: writer.epoch, nonce: nonce, after: writer.position,
            isFirst: writer.epoch == 1, asOf: now)
        host.log(.notice, "Began the shard \(name)")
    }

    // MARK: - Seeding

    private static let baseLookMilliseconds = 500

    /// The bases, newest first. A leader writes its first one when it starts, which is waited for.
    private func bases(on bucket: any Bucket) throws -> [UInt64] {
        let end = host.uptime + Int64(ReplicationLimits.firstBaseMilliseconds)
        var hasSaid = false
        while true {
            let bases = try BaseManifest.numbers(on: bucket)
            guard bases.isEmpty, host.uptime < end else { return bases.reversed() }
            if !hasSaid { host.log(.notice, "Waiting for the first base of the leader") }
            hasSaid = true
            if host.wait(milliseconds: Self.baseLookMilliseconds) { throw StoppedAtStart() }
        }
    }

    /// - Parameter epoch: of the store that is there and must be rebuilt.
    private func seed(why: String, _ epoch: UInt64?, on bucket: any Bucket) throws {
        let document = try StoreDocument.read(on: bucket)
        var room = SeedRoom(directory, storeOptions, host, epoch: epoch)
        while let (manifest, newest) = try seed(why: why, of: document, on: bucket) {
            try room.make(for: manifest, newest: newest, on: bucket)
        }
    }

    /// Builds the store from the newest base that can be used.
    ///
    /// - Returns: the base for which there is no room, and the newest one; nil: it is built.
    private func seed(
        why: String, of document: StoreDocument, on bucket: any Bucket
    ) throws -> (base: BaseManifest, newest: UInt64)? {
        var failure: (any Error)?
        let bases = try bases(on: bucket)
        for number in bases {
            var manifest: BaseManifest?
            do {
                let found = try BaseManifest.read(number, on: bucket)
                guard found.storeID == document.storeID else {
                    throw ReplicationError.foreign(
                        ShardNames.manifest(number), of: found.storeID, in: document.storeID)
                }
                manifest = found
                host.log(
                    .notice,
                    "Building the store in \(directory) from the base after segment \(number): \(why)"
                )
                try Seeder.seed(
                    directory, options: storeOptions, from: found,
                    leavesBlobs: host.settings.localByteCountMax != nil, asOf: host.now, on: bucket)
                return nil
            } catch let error as StoreError {
                guard case .full = error, let manifest else { throw error }
                return (manifest, newest: bases[0])
            } catch let error as ReplicationError {
                switch error {
                case .damaged, .bucket(_, isLasting: false): break
                default: throw error
                }
                host.log(.warning, "A base in the bucket cannot be used: \(error)")
                failure = failure ?? error
            }
        }
        throw failure
            ?? ReplicaFailure(
                description:
                    "\(host.settings.shardName) has no base yet: its leader writes one when it starts"
            )
    }
}

/// What is found out of a bucket before anything is written to it.
enum ShardCheck {
    /// Throws unless the bucket has the shard of this store, and its server keeps conditional creates. Once a
    /// process.
    static func run(_ store: BlobStore, _ host: any ShardHost, on bucket: any Bucket) throws {
        guard !host.isShardChecked else { return }
        let isThere = try hasShard(of: store.id, in: store.directory, host, on: bucket)
        guard try isThere || hasLostDocument(of: store, on: bucket) else {
            throw ReplicaFailure(
                description:
                    "\(host.settings.shardName) contains no shard, but \(store.directory) belongs to one: start with its original prefix"
            )
        }
        try host.requireConditionalCreates()
        if !isThere, try StoreDocument.makeAgain(of: store.id, on: bucket) {
            host.log(
                .warning,
                "\(ShardNames.store) was missing from \(host.settings.shardName): made it again")
        }
        host.noteShardChecked()
    }

    /// Whether `store.json` alone is gone: the prefix has a segment or a base of this store.
    private static func hasLostDocument(
        of store: BlobStore, on bucket: any Bucket
    ) throws(ReplicationError) -> Bool {
        guard let position = store.replicationState?.position else { return false }
        do throws(ReplicationError) {
            let segment = try Segment.read(position.number, on: bucket)
            if let segment { return segment.head.storeID == store.id }
        } catch {
            // It is damaged, and a base may tell.
            guard case .damaged = error else { throw error }
        }
        guard let newest = try BaseManifest.numbers(on: bucket).last else { return false }
        return try BaseManifest.read(newest, on: bucket).storeID == store.id.description
    }

    /// Whether the prefix has the shard of this store; false where it has none.
    ///
    /// - Parameter id: nil where there is no store yet.
    /// - Throws: where it has the shard of another store.
    static func hasShard(
        of id: StoreID?, in directory: String, _ host: any ShardHost, on bucket: any Bucket
    ) throws -> Bool {
        let found: StoreDocument
        do throws(ReplicationError) { found = try StoreDocument.read(on: bucket) } catch {
            if case .noShard = error { return false }
            throw error
        }
        if let id, found.storeID == id.description { return true }
        let newest = try AliveDocument.newest(of: found.storeID, on: bucket)
        let leader = newest.map { ", led by \($0.host)" } ?? ""
        throw ReplicaFailure(
            description:
                "\(host.settings.shardName) contains the store \(found.storeID)\(leader), but \(directory) contains \(id?.description ?? "none"): to follow that shard, use --follow with an empty --data; to replicate this store, use another prefix"
        )
    }
}
