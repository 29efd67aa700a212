package import BlobStore
internal import Bytes
internal import Hashing

/// Puts a base of a leader's store into the bucket, alongside the thread that ships: ``upload(on:clock:)``, then
/// ``finish(on:)`` again and again until it is done.
package struct BaseWriter {
    package enum Outcome: Sendable, Hashable {
        case finished
        case waits(forSequence: UInt64)
        case unknown(String)
    }

    private let store: BlobStore
    private let epoch: UInt64
    private let position: LogPosition
    private let uploadsAllBlobs: Bool
    /// What was uploaded; nil before.
    package private(set) var manifest: BaseManifest?

    /// - Parameters:
    ///   - position: a segment that is in the log, and after which no base was begun: a name never has
    ///     other bytes.
    ///   - uploadsAllBlobs: whether long blobs are uploaded, too: of a store that was not replicated before
    ///     they are not in the bucket. Those of later batches are.
    package init(
        _ store: BlobStore, after position: LogPosition, of epoch: UInt64, uploadsAllBlobs: Bool
    ) {
        self.store = store
        self.position = position
        self.epoch = epoch
        self.uploadsAllBlobs = uploadsAllBlobs
    }

    package var number: UInt64 { position.number }

    /// Uploads all parts. The base counts only with its manifest.
    package mutating func upload(on bucket: some Bucket, clock: () -> Timestamp) throws {
        // Before the tables: what they have is then in the bucket, or was stored since and is shipped.
        if uploadsAllBlobs {
            let store = store
            try store.forEachLongBlobs { blobs in
                try LongBlobs.put(blobs, of: store.id, on: bucket) {
                    try store.storedBytes(ofLive: $0)
                }
            }
        }
        var parts: [BaseManifest.Part] = []
        var part: [UInt8] = []
        func send() throws(ReplicationError) {
            guard !part.isEmpty else { return }
            let hash = SHA256.digest(of: part.span.bytes)
            // Should a listing have left out that another base has the name, that one stays as it is.
            let name = ShardNames.part(parts.count, ofBase: position.number)
            let other = try bucket.createUntilKnown(
                name, part, byteCountMax: ReplicationLimits.partByteCountMax,
                attemptCountMax: Self.attemptCountMax)
            guard other == nil else { throw Self.notOurs(name) }
            parts.append(BaseManifest.Part(byteCount: part.count, digest: Digest(hash)))
            part.removeAll(keepingCapacity: true)
        }
        var moment = BaseMoment(sequence: 0, nextBlobNumber: 0)
        var time = clock()
        try store.writeBase(asOf: time) {
            moment = $0
            // After the last change of the moment, and not only after the beginning.
            time = max(time, clock())
        } to: { bytes in
            part.append(contentsOf: bytes)
            if part.count >= ReplicationLimits.partByteCount { try send() }
        }
        try send()
        manifest = BaseManifest(
            storeID: store.id.description, epoch: epoch, position: position,
            sequence: moment.sequence, time: time, nextBlobNumber: moment.nextBlobNumber,
            parts: parts)
    }

    private static let attemptCountMax = 6

    /// Makes the base count, when all that it has is in the log and this store leads still.
    ///
    /// A leader that is paused here may create its manifest after another leader's collection: of a base
    /// before that one's fence, some of whose parts or blobs may be gone. The next collection deletes it, since
    /// newer bases are kept; a restore that begins with it before that is refused, and names what is missing.
    package func finish(on bucket: some Bucket) throws(ReplicationError) -> Outcome {
        guard let manifest else { preconditionFailure("upload first") }
        guard store.shippedSequence >= manifest.sequence else {
            return .waits(forSequence: manifest.sequence)
        }
        try LeadCheck.require(epoch, of: store, on: bucket)
        let name = ShardNames.manifest(position.number)
        let outcome = try bucket.createOwn(
            name, manifest.bytes, byteCountMax: ReplicationLimits.documentByteCountMax)
        switch outcome {
        case .done: return .finished
        case .unknown(let why): return .unknown(why)
        case .other: throw Self.notOurs(name)
        }
    }

    private static func notOurs(_ name: String) -> ReplicationError {
        .damaged(name: name, why: "does not belong to the base made here")
    }
}
