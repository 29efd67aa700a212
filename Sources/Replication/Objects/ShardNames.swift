package import BlobStore

/// The names of a shard's objects, below its prefix. A name always has the same bytes, and is never used
/// again, but for those of `alive/`, and for those of the log that were collected: a fence may come there late, which
/// counts for nothing (``Fence``). Numbers have leading zeros, so that names sort by them.
package enum ShardNames {
    /// Which store it is. Created once, kept permanently.
    package static let store = "store.json"
    package static let logPrefix = "log/"
    package static let basePrefix = "base/"
    package static let blobPrefix = "blob/"
    package static let handoverPrefix = "handover/"
    package static let alivePrefix = "alive/"

    package static func log(_ number: UInt64) -> String { logPrefix + padded(number) }

    /// What a full copy of the tables begins with: its number is that of the last segment it has.
    package static func base(_ number: UInt64) -> String { basePrefix + padded(number) + "/" }

    package static func manifest(_ number: UInt64) -> String { base(number) + "manifest.json" }

    package static func part(_ index: Int, ofBase number: UInt64) -> String {
        base(number) + "part-" + padded(UInt64(index), digitCount: 6)
    }

    /// A blob of several chunks: its number, which is never used again in a shard, and its digest. Two copies of
    /// one folder may give the same number to different bytes before they find out about each other; the digest
    /// keeps either from overwriting what the other has stored.
    package static func blob(_ blob: BlobReference) -> String {
        blobName(blob.number, blob.digest)
    }

    private static func blobName(_ number: UInt64, _ digest: Digest) -> String {
        blobs(from: number) + "-" + digest.description.dropFirst("sha256:".utf8.count)
    }

    /// Before all blobs that have a number or a higher one, and after all others.
    package static func blobs(from number: UInt64) -> String { blobPrefix + padded(number) }

    package static func blobParts(_ name: String) -> (number: UInt64, digest: Digest)? {
        let parts = name.dropFirst(blobPrefix.count).split(separator: "-")
        guard parts.count == 2, let number = UInt64(parts[0]),
            let digest = Digest("sha256:" + parts[1]), blobName(number, digest) == name
        else { return nil }
        return (number, digest)
    }

    package static func handover(_ epoch: UInt64) -> String {
        handoverPrefix + padded(epoch, digitCount: 10)
    }

    package static func alive(_ epoch: UInt64) -> String {
        alivePrefix + padded(epoch, digitCount: 10)
    }

    package static func number(_ name: String, after prefix: String) -> UInt64? {
        guard name.hasPrefix(prefix) else { return nil }
        let digits = name.dropFirst(prefix.count)
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(digits)
    }

    private static func padded(_ number: UInt64, digitCount: Int = 20) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    }
}
