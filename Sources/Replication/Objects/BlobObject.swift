internal import BlobStore
internal import Bytes
internal import Hashing

/// A blob of several chunks, as an object of its own.
///
///     0    "blobdobj"
///     8    version, 4 bytes: 1
///     12   coding; reserved, 3 bytes
///     16   store id, 16 bytes
///     32   blob number
///     40   digest of the payload as given, 32 bytes
///     72   byte count as given
///     80   byte count as stored
///     88   stored bytes
///     …    SHA-256 of all before
enum BlobObject {
    private static let magic = Array("blobdobj".utf8)
    private static let version: UInt32 = 1
    private static let headByteCount = 88
    private static let digestByteCount = 32

    /// Bytes of the object of a blob.
    static func byteCount(of blob: BlobReference) -> Int {
        headByteCount + blob.storedByteCount + digestByteCount
    }

    static func bytes(_ blob: BlobReference, _ stored: [UInt8], _ storeID: StoreID) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount(of: blob))
        appendHead(of: blob, storeID, to: &bytes)
        bytes += stored
        let hash = SHA256.digest(of: bytes.span.bytes)
        bytes.append(contentsOf: hash.span.bytes)
        return bytes
    }

    private static func appendHead(
        of blob: BlobReference, _ storeID: StoreID, to bytes: inout [UInt8]
    ) {
        bytes += magic
        bytes.append(littleEndian: version)
        bytes.append(blob.coding.rawValue)
        bytes.appendZeros(3)
        storeID.append(to: &bytes)
        bytes.append(littleEndian: blob.number)
        bytes.append(contentsOf: blob.digest.rawWords.span.bytes)
        bytes.append(littleEndian: UInt64(blob.byteCount))
        bytes.append(littleEndian: UInt64(blob.storedByteCount))
    }

    /// The stored bytes of the blob that an object has to be of.
    static func stored(
        _ bytes: [UInt8], _ blob: BlobReference, _ storeID: StoreID
    ) throws(DamagedObject) -> [UInt8] {
        guard bytes.count == byteCount(of: blob) else {
            throw DamagedObject(
                "has \(bytes.count) bytes; the blob \(blob.number) takes \(byteCount(of: blob))")
        }
        let end = bytes.count - digestByteCount
        let hash = SHA256.digest(of: bytes.span.bytes.extracting(first: end))
        guard bytes.span.bytes.extracting(last: digestByteCount).equals(hash.span.bytes) else {
            throw DamagedObject("fails its SHA-256")
        }
        var head: [UInt8] = []
        appendHead(of: blob, storeID, to: &head)
        guard bytes.span.bytes.extracting(first: headByteCount).equals(head.span.bytes) else {
            throw DamagedObject("is another blob's")
        }
        return Array(bytes[headByteCount..<end])
    }
}
