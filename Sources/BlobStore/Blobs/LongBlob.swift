/// What a follower has of a blob that is not shipped with its batch.
package enum LongBlob: Sendable {
    /// Its bytes, as stored.
    case bytes([UInt8])
    /// Nothing: its bytes stay in the bucket until somebody asks for them.
    case evicted
    /// Nothing, and the bucket has none either: it is damaged.
    case missing

    package var byteCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .evicted, .missing: 0
        }
    }
}

/// Gives the contents of long blobs: calls its second argument with each of the first, once.
package typealias LongBlobSource = (
    _ blobs: [BlobReference], _ put: (BlobReference, LongBlob) throws -> Void
) throws -> Void
