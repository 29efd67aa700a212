/// A blob of several chunks that is here.
package struct EvictableBlob: Sendable, Hashable {
    package var number: UInt64
    package var chunkCount: Int
    /// Bytes of those that are here, as stored.
    package var storedByteCount: Int
}

package enum EvictionStep: Sendable, Hashable {
    /// Snapshots are open that may use what is to be removed: try again a moment later.
    case waits
    /// There is another step.
    case goesOn
    /// Nothing is being evicted any more.
    case done
}

package enum PutBackOutcome: Sendable, Hashable {
    /// They are here.
    case stored
    /// The blob is being removed this moment, or its damaged pages are being sent: try again a moment later.
    case later
    /// The blob is here already, or nobody needs it any more.
    case gone
}

/// How many blobs may have chunks missing here, since the bucket has them.
package struct EvictedBlobs: Sendable, Hashable {
    package var blobs = 0
    /// Their stored bytes.
    package var bytes = 0
}
