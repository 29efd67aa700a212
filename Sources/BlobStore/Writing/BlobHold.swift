/// A blob to be kept for a while though nothing refers to it yet.
public struct BlobHold: Sendable {
    /// Its bytes.
    public var payload: PreparedPayload
    /// Until when; an earlier moment than it is held until already changes nothing.
    public var until: Timestamp
    /// The digest it must have; nil: any.
    public var expected: Digest?

    /// A hold.
    public init(_ payload: PreparedPayload, until: Timestamp, expected: Digest? = nil) {
        self.payload = payload
        self.until = until
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
    /// Every rule that does not depend on what is stored.
    func check(asOf now: Timestamp) throws(StoreError) {
        try Rules.check(end: until, asOf: now)
        if let expected, expected != payload.digest {
            throw .digestMismatch(expected: expected, actual: payload.digest)
        }
    }
}
