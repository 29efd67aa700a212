import BlobStore
import Hashing
import TestSupport

/// The bytes that payloads have: the same for the same number in all runs of a process.
enum PayloadContents {
    nonisolated(unsafe) private static var made: [Int: [UInt8]] = [:]
    nonisolated(unsafe) private static var digests: [Int: Digest] = [:]

    /// Contents that are long in bulk.
    static let bulkCount = 9

    /// How long content `number` is: mostly short; some are of several chunks, which are objects of their own in the
    /// bucket. In bulk some are as long as what is held in memory at once, together.
    static func byteCount(_ number: Int, isBulk: Bool) -> Int {
        if isBulk, number < bulkCount { return 4_500_000 + number * 700_000 }
        return [0, 10, 900, 3_000, 66_000, 12_000, 140_000, 300, 70_000, 50_000, 300_000][
            number % 11]
            + number
    }

    /// A content that nearly fills a chunk; most often one that nobody has stored yet.
    static func medium(_ number: Int) -> Int { 11 * (100 + number) + 9 }

    /// A content of several chunks; most often one that nobody has stored yet.
    static func long(_ number: Int) -> Int { 11 * (100 + number) + 6 }

    static func bytes(_ number: Int, isBulk: Bool) -> [UInt8] {
        let key = isBulk ? ~number : number
        if let bytes = made[key] { return bytes }
        let count = byteCount(number, isBulk: isBulk)
        // Some shrink when they are compressed.
        var bytes = SeededGenerator.bytes(count, seed: UInt64(number) + (isBulk ? 1 << 20 : 0))
        if number % 10 == 3 { for index in bytes.indices { bytes[index] &= 0x41 } }
        made[key] = bytes
        return bytes
    }

    /// The SHA-256 of ``bytes(_:isBulk:)``.
    static func digest(_ number: Int, isBulk: Bool) -> Digest {
        let key = isBulk ? ~number : number
        if let digest = digests[key] { return digest }
        var hash = SHA256()
        hash.update(bytes(number, isBulk: isBulk).span.bytes)
        let digest = Digest(hash.digest())
        digests[key] = digest
        return digest
    }
}
