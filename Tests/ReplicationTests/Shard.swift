import BlobStore
import Bytes
import Hashing
import Testing
import TestSupport

@testable import Replication

/// The present of the tests.
let noon = Timestamp(milliseconds: 1_800_000_000_000)

/// A clock that a test moves.
final class TestClock {
    private(set) var now = noon
    private(set) var bootMilliseconds: Int64 = 0

    func advance(milliseconds: Int64) {
        set(by: milliseconds)
        bootMilliseconds += milliseconds
    }

    /// Somebody sets the wall clock.
    func set(by milliseconds: Int64) {
        now = Timestamp(milliseconds: now.milliseconds + milliseconds)
    }
}

/// A store of a shard, and its way to the bucket.
final class Member {
    let folder: TemporaryFolder
    private(set) var store: BlobStore
    let bucket: MemoryBucket
    /// Of the thread that makes bases and collects.
    let upkeep: MemoryBucket
    let clock: TestClock
    let name: String
    var schedule = BaseSchedule()
    var maintenance: BucketMaintenance?
    var shipper: Shipper?
    var log: LogFollower

    static var options: StoreOptions {
        var options = StoreOptions()
        options.mapByteCountMax = 1 << 30
        options.tombstoneRetentionMilliseconds = 2_000_000
        options.isReplicated = true
        options.evictsBlobs = true
        return options
    }

    /// A new store.
    convenience init(
        _ name: String, _ objects: MemoryObjects, clock: TestClock = TestClock()
    ) throws {
        try self.init(name, MemoryBucket(objects), objects, clock, in: TemporaryFolder())
    }

    /// A follower that begins with the newest base.
    convenience init(
        _ name: String, seededFrom objects: MemoryObjects, clock: TestClock = TestClock(),
        base: Int = 0, leavesBlobs: Bool = false
    ) throws {
        let (bucket, folder) = (MemoryBucket(objects), TemporaryFolder())
        // The newest one, or one of those before it.
        let number = try #require(try BaseManifest.numbers(on: bucket).dropLast(base).last)
        let manifest = try BaseManifest.read(number, on: bucket)
        try Seeder.seed(
            folder.path, options: Self.options, from: manifest, leavesBlobs: leavesBlobs,
            asOf: clock.now, on: bucket)
        try self.init(name, bucket, objects, clock, in: folder)
    }

    private init(
        _ name: String, _ bucket: MemoryBucket, _ objects: MemoryObjects, _ clock: TestClock,
        in folder: TemporaryFolder
    ) throws {
        (self.name, self.clock, self.folder, self.bucket) = (name, clock, folder, bucket)
        upkeep = MemoryBucket(objects)
        store = try BlobStore.open(at: folder.path, options: Self.options)
        log = LogFollower(
            storeID: store.id, after: store.replicationState?.position ?? .start)
    }

    /// Leads a shard that nobody led before.
    func begin() throws {
        try bucket.put(ShardNames.store, StoreDocument(storeID: store.id.description).bytes)
        let nonce = Nonce.random()
        let takeOver = TakeOver(storeID: store.id, nonce: nonce, host: name)
        let outcome = try takeOver.run(
            deposes: true, &log, of: 0, on: bucket, sequence: { 0 }, asOf: clock.now
        ) { _ in false }
        guard case .leads(let writer) = outcome else { throw TestFailure("\(outcome)") }
        try store.lead(
            epoch: 1, nonce: nonce, after: writer.position, isFirst: true, asOf: clock.now)
        try resume()
    }

    /// Leads a shard that nobody led before, and makes its first base.
    func beginWithBase() throws {
        try begin()
        try ship()
        try maintain()
    }

    /// Ships on, as after a start.
    func resume() throws {
        #expect(try Resumption.run(store, on: bucket) == .leads)
        try beginShipping()
    }

    private func beginShipping() throws {
        let state = try #require(store.replicationState)
        shipper = Shipper(
            store,
            LogWriter(
                storeID: store.id, epoch: state.epoch, nonce: state.nonce, after: state.position))
    }

    /// Opens the store again.
    ///
    /// - Parameter between: is called while it is closed.
    func reopen(_ between: () throws -> Void = {}) throws {
        shipper = nil
        maintenance = nil
        let path = folder.path
        let id = store.id
        close()
        try between()
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

    /// Whether ``ship()`` writes down what was shipped, as a daemon does a moment later. A blob that the file calls
    /// unshipped is neither freed nor evicted.
    var savesShipped = true

    /// Ships everything.
    func ship() throws {
        while true {
            let step = try shipper?.step(on: bucket, asOf: clock.now, appendsEmpty: false)
            switch step {
            case .shipped, .unknown: continue
            case .nothing:
                if savesShipped { try store.saveShipped() }
                return
            case .deposed(let epoch): throw TestFailure("deposed by epoch \(epoch)")
            case nil: throw TestFailure("no leader")
            }
        }
    }

    func writeBase(all: Bool = true) throws {
        let (clock, position) = (clock, try #require(shipper).position)
        var writer = BaseWriter(
            store, after: position, of: try #require(store.replicationState).epoch,
            uploadsAllBlobs: all)
        try writer.upload(on: bucket) { clock.now }
        try ship()
        #expect(try writer.finish(on: bucket) == .finished)
    }

    /// Whether ``maintain()`` appends a segment where a base needs a name, as a daemon does.
    var appendsForBases = false

    /// Does all that is to do in the bucket, and ships meanwhile.
    @discardableResult
    func maintain() throws -> [BucketMaintenance.Step] {
        let (clock, store) = (clock, store)
        if maintenance == nil {
            maintenance = try BucketMaintenance(
                store, epoch: try #require(store.replicationState).epoch, schedule, on: upkeep,
                clock: { clock.now }, bootMilliseconds: { clock.bootMilliseconds },
                writer: DirectWriter(store))
        }
        var steps: [BucketMaintenance.Step] = []
        while let step = try maintenance?.step(on: upkeep), step != .nothing {
            if step == .needsSegment {
                guard appendsForBases else { break }
                let shipped = try shipper?.step(on: bucket, asOf: clock.now, appendsEmpty: true)
                guard case .shipped = shipped else { break }
                continue
            }
            steps.append(step)
            if case .unknown(let why) = step, steps.dropLast().last == step {
                throw TestFailure("unknown again: \(why)")
            }
            if case .uploadedBase = step { try ship() }
            if case .prunedRetired = step { try ship() }
        }
        return steps
    }

    /// While its store has so many bytes, long payloads stay in the bucket; nil: all are fetched.
    var localByteCountMax: Int?

    var applier: SegmentApplier {
        SegmentApplier(
            store, localByteCountMax: localByteCountMax, writer: DirectWriter(store))
    }

    /// Evicts payloads by number, and goes on until that is done.
    ///
    /// - Returns: how many were begun with.
    @discardableResult
    func evict(_ numbers: [UInt64]? = nil) throws -> Int {
        let found = try store.evictableBlobs(from: 0, byteCountMax: .max, lookingAt: .max).blobs
        let count = try store.beginEvicting(
            found.filter { numbers?.contains($0.number) != false }, bootMilliseconds: nil)
        while try store.advanceEviction() == .continues {}
        return count
    }

    /// Fetches an evicted payload.
    func fetch(_ blob: BlobReference) throws -> PutBackOutcome {
        try store.putBack(blob, try LongBlobs.bytes(of: blob, in: store.id, on: bucket))
    }

    /// Applies all there is.
    func follow() throws {
        var ahead = log
        while let segment = try ahead.next(on: bucket, looksForBase: true) {
            try applier.apply(segment, on: bucket)
            log = ahead
        }
    }

    /// Takes the lead.
    ///
    /// - Parameter isLate: whether the fence is put first, and nothing is applied before it.
    func takeOver(isLate: Bool = false) throws -> TakeOver.Outcome {
        let (store, applier, bucket) = (store, applier, bucket)
        let nonce = try store.prepareToLead(nonce: .random(), asOf: clock.now)
        let takeOver = TakeOver(storeID: store.id, nonce: nonce, host: name)
        let outcome = try takeOver.run(
            deposes: true, &log, of: store.replicationState?.epoch ?? 0, on: bucket,
            sequence: { store.lastSequence }, asOf: clock.now, isLate: { isLate }
        ) { segment in
            try applier.apply(segment, on: bucket)
            return true
        }
        guard case .leads(let writer) = outcome else { return outcome }
        try store.lead(
            epoch: writer.epoch, nonce: nonce, after: writer.position, isFirst: false,
            asOf: clock.now)
        try beginShipping()
        return outcome
    }

    /// All that the tables have and every host has alike, with the bytes of all blobs.
    func contents() throws -> Digest {
        var hash = SHA256()
        try store.writeBase(asOf: noon) { hash.update($0) }
        try store.forEachLongBlobs { blobs in
            for blob in blobs { hash.update(try store.storedBytes(of: blob)) }
        }
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

    /// The payload of a notification; nil where there is none.
    func get(_ id: String) throws -> [UInt8]? {
        try withPayload(for: id, asOf: noon) { try $0.ownedBytes() }
    }
}
