import BlobStore
import Bytes
import Hashing
import Replication
import Testing
import TestSupport

/// The present of the tests.
let noon = Timestamp(milliseconds: 1_800_000_000_000)

/// A store of a shard, and its way to the bucket.
final class Member {
    let folder = TemporaryFolder()
    private(set) var store: BlobStore
    let bucket: MemoryBucket
    let name: String
    var shipper: Shipper?
    var log: LogFollower

    static var options: StoreOptions {
        var options = StoreOptions()
        options.mapByteCountMax = 1 << 30
        options.tombstoneRetentionMilliseconds = 2_000_000
        options.isReplicated = true
        return options
    }

    /// A new store.
    init(_ name: String, _ objects: MemoryObjects) throws {
        self.name = name
        bucket = MemoryBucket(objects)
        store = try BlobStore.open(at: folder.path, options: Self.options)
        log = LogFollower(storeID: store.id, behind: .start)
    }

    /// A follower that begins with the newest base.
    init(_ name: String, seededFrom objects: MemoryObjects) throws {
        self.name = name
        bucket = MemoryBucket(objects)
        let number = try #require(try Seeder.bases(on: bucket).last)
        let manifest = try Seeder.manifest(number, on: bucket)
        try Seeder.seed(
            folder.path, options: Self.options, from: manifest, asOf: noon, on: bucket)
        store = try BlobStore.open(at: folder.path, options: Self.options)
        log = LogFollower(storeID: store.id, behind: try #require(store.replicationState).position)
    }

    /// Leads a shard that nobody led before.
    func begin() throws {
        try bucket.put(ShardNames.store, StoreDocument(storeID: store.id.description).bytes)
        let document = EpochDocument(
            storeID: store.id.description, nonce: .random(), host: name, time: noon)
        _ = try #require(try Epochs.create(1, document, on: bucket))
        try store.lead(
            epoch: 1, nonce: document.nonce, behind: .start, isFirst: true, asOf: noon)
        try resume()
    }

    /// Ships on, as after a start.
    func resume() throws {
        let state = try #require(store.replicationState)
        #expect(try Resumption.run(store, state, on: bucket) == .leads)
        try beginShipping()
    }

    private func beginShipping() throws {
        let state = try #require(store.replicationState)
        shipper = Shipper(
            store,
            LogWriter(
                storeID: store.id, epoch: state.epoch, nonce: state.nonce, behind: state.position))
    }

    /// Opens the store again.
    func reopen() throws {
        shipper = nil
        let path = folder.path
        let id = store.id
        close()
        store = try BlobStore.open(at: path, options: Self.options)
        precondition(store.id == id)
    }

    /// Closes the store for good.
    func abandon() throws {
        shipper = nil
        close()
    }

    private func close() {
        let other = TemporaryFolder()
        // The only reference: a store is closed with its last one.
        store = try! BlobStore.open(at: other.path, options: Self.options)
    }

    /// Ships everything.
    func ship() throws {
        while true {
            let step = try shipper?.step(on: bucket, asOf: noon, appendsEmpty: false)
            switch step {
            case .shipped, .unknown: continue
            case .nothing: return
            case .deposed(let epoch): throw TestFailure("deposed by epoch \(epoch)")
            case nil: throw TestFailure("no leader")
            }
        }
    }

    func writeBase(all: Bool = true) throws {
        let position = try #require(shipper).position
        let writer = BaseWriter(store)
        let manifest = try writer.upload(
            behind: position, of: try #require(store.replicationState).epoch, uploadsAllBlobs: all,
            asOf: noon, on: bucket)
        try ship()
        try writer.finish(manifest, on: bucket)
    }

    private var applier: SegmentApplier {
        let store = store
        return SegmentApplier(store) { body throws(StoreError) in try body(store) }
    }

    /// Applies all there is.
    func follow() throws {
        while case .segment(let segment) = try log.peek(on: bucket, looksAtPacks: true) {
            try applier.apply(segment, on: bucket)
            log.accept()
        }
    }

    /// Takes the lead.
    func takeOver() throws -> TakeOver.Outcome {
        let (store, applier, bucket) = (store, applier, bucket)
        let takeOver = TakeOver(storeID: store.id, nonce: .random(), host: name)
        let outcome = try takeOver.run(
            &log, on: bucket, sequence: { store.lastSequence }, asOf: noon
        ) { (segment) throws(ReplicationError) in try applier.apply(segment, on: bucket) }
        guard case .leads(let epoch, let nonce, let fence) = outcome else { return outcome }
        try store.lead(epoch: epoch, nonce: nonce, behind: fence, isFirst: false, asOf: noon)
        try beginShipping()
        return outcome
    }

    /// All that the tables have and every host has alike, with the bytes of all blobs.
    func contents() throws -> Digest {
        var hash = SHA256()
        _ = try store.writeBase(asOf: noon) { hash.update($0) }
        try store.forEachLongBlob { blob in hash.update(try store.storedBytes(of: blob)) }
        return Digest(hash.digest())
    }
}

extension BlobStore {
    @discardableResult
    func put(_ id: String, _ bytes: [UInt8], seconds: Int64 = 3_600) throws -> Record {
        var writer = makePayloadWriter()
        try writer.append(bytes.span.bytes)
        return try publish(
            Publication(
                id: id, payload: try writer.finish(mediaType: "application/octet-stream"),
                expiry: .at(noon.adding(seconds: seconds))), asOf: noon)
    }
}
