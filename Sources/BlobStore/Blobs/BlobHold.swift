internal import LMDB

/// A blob to be kept for a while though nothing refers to it yet.
public struct BlobHold: Sendable {
    /// Its bytes.
    public var payload: PreparedPayload
    /// Until when, whatever it is held until already: an earlier moment than that changes nothing.
    public var end: Expiry
    /// The digest it must have; nil: any.
    public var expected: Digest?

    /// A hold until a moment.
    public init(_ payload: PreparedPayload, until: Timestamp, expected: Digest? = nil) {
        self.payload = payload
        end = .at(until)
        self.expected = expected
    }

    /// A hold for so many seconds from the moment of the change.
    public init(_ payload: PreparedPayload, seconds: Int64, expected: Digest? = nil) {
        self.payload = payload
        end = .after(seconds: seconds)
        self.expected = expected
    }
}

/// A blob that is kept for a while.
public struct HeldBlob: Sendable, Hashable {
    /// Which, and how it is stored.
    public var blob: BlobReference
    /// Until when at the least.
    public var until: Timestamp
}

extension BlobHold {
    func check(asOf now: Timestamp) throws(StoreError) {
        try Rules.check(end, asOf: now)
        if let expected, expected != payload.digest {
            throw .digestMismatch(expected: expected, actual: payload.digest)
        }
    }
}

// Blobs that are kept for a while without a reference, so that they can be stored before the
// notifications that refer to them.

extension ChangeTransaction {
    mutating func hold(
        _ hold: BlobHold, staged: [Digest: UInt64]
    ) throws(StoreError) -> Outcome {
        do throws(StoreError) {
            try Rules.check(hold.end, asOf: now)
            try checkQuotas(hold)
        } catch {
            return try Self.refused(error)
        }
        let digest = hold.payload.digest
        let end = hold.end.moment(keeping: nil, asOf: now)
        guard var entry = try blobEntry(digest) else {
            let blob = try store(hold.payload, heldUntil: end, staged: staged[digest])
            try noteHold(digest, from: nil, to: end)
            return .held(HeldBlob(blob: blob, until: end), created: true)
        }
        let old = entry.heldUntil
        let until = max(end, old ?? end)
        guard try hasBytes(of: entry) else {
            try giveWay(entry)
            let blob = try store(
                hold.payload, heldUntil: until, staged: staged[digest], bound: entry.expiryBound)
            if until != old { try noteHold(digest, from: old, to: until) }
            return .held(HeldBlob(blob: blob, until: until), created: true)
        }
        if until != old {
            entry.heldUntil = until
            try write(entry)
            try noteHold(digest, from: old, to: until)
        }
        return .held(HeldBlob(blob: entry.blob, until: until), created: false)
    }

    borrowing func checkQuotas(_ hold: BlobHold) throws(StoreError) {
        guard quotas.needsStoredByteCount, try blobEntry(hold.payload.digest) == nil else { return }
        try counters.check(
            quotas, freeDiskByteCount: freeDiskByteCount,
            storedGrowth: hold.payload.storedByteCount, notificationGrowth: 0)
    }

    /// The hold that ends at `end` is over. A blob that nothing refers to is an orphan then.
    mutating func endHold(_ digest: Digest, at end: Timestamp) throws(StoreError) {
        guard var entry = try blobEntry(digest) else { return }
        entry.heldUntil = nil
        try noteHold(digest, from: end, to: nil)
        if entry.referenceCount > 0 {
            try write(entry)
        } else {
            try abandon(entry)
        }
    }

    /// Keeps the hold's end in the index, and the counter, in step with a blob's entry.
    mutating func noteHold(
        _ digest: Digest, from old: Timestamp?, to new: Timestamp?
    ) throws(StoreError) {
        if let old { try removeIndex(IndexKeys.holdEnd(old, digest)) }
        if let new { try setIndex(IndexKeys.holdEnd(new, digest)) }
        let difference = (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
        guard difference != 0 else { return }
        counters.heldBlobs = try counters.heldBlobs.changed(by: difference, "held blobs")
    }
}
