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
    /// Every rule that does not depend on what is stored.
    func check(asOf now: Timestamp) throws(StoreError) {
        try Rules.check(end, asOf: now)
        if let expected, expected != payload.digest {
            throw .digestMismatch(expected: expected, actual: payload.digest)
        }
    }
}
