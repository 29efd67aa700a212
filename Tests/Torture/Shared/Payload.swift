import BlobClient
import Bytes
import Hashing
import TestSupport

/// Bytes that a seed makes, the same every time and at every offset, so that nobody has to keep them.
///
/// They say themselves whose they are: each block of ``blockByteCount`` begins with 32 characters such as
/// `<churn: 0000000c0000001f000001a0`, the two halves of a name and the block in hexadecimal; the rest is made from the
/// seed. So bytes that come from elsewhere are seen wherever they begin, and mostly it can be said where they come from.
struct Payload: Sendable, Hashable {
    /// What the bytes look like.
    enum Kind: Sendable, Hashable { case noise, text }

    let seed: UInt64
    let byteCount: Int
    let kind: Kind
    /// What its blocks are called; nil: by the seed.
    var name: UInt64?

    /// The size of a block, in bytes.
    static let blockByteCount = 512

    /// A media type that fits: text is one that the daemon compresses, noise is not.
    var mediaType: String { kind == .text ? "text/plain" : "image/jpeg" }

    /// A payload of a size between the bounds, one in four of them text.
    static func random(_ bounds: ClosedRange<Int>, using generator: inout SeededGenerator)
        -> Payload
    {
        Payload(
            seed: generator.next(), byteCount: generator.logarithmic(bounds),
            kind: generator.chance(25) ? .text : .noise)
    }

    /// All bytes.
    func bytes() -> [UInt8] {
        var bytes: [UInt8] = []
        append(0..<byteCount, to: &bytes)
        return bytes
    }

    /// Appends the bytes of a range, which begins with a block.
    func append(_ range: Range<Int>, to bytes: inout [UInt8]) {
        precondition(range.lowerBound % Self.blockByteCount == 0)
        bytes.reserveCapacity(bytes.count + range.count)
        var block: [UInt64] = []
        for offset in stride(
            from: range.lowerBound, to: range.upperBound, by: Self.blockByteCount)
        {
            makeBlock(offset / Self.blockByteCount, into: &block)
            block.withUnsafeBytes {
                bytes.append(contentsOf: $0.prefix(range.upperBound - offset))
            }
        }
    }

    /// Replaces `words` by those of a block.
    private func makeBlock(_ index: Int, into words: inout [UInt64]) {
        words.removeAll(keepingCapacity: true)
        let name = name ?? seed
        words.append(Self.magic)
        words.append(Self.hexadecimal(UInt32(truncatingIfNeeded: name >> 32)))
        words.append(Self.hexadecimal(UInt32(truncatingIfNeeded: name)))
        words.append(Self.hexadecimal(UInt32(truncatingIfNeeded: index)))
        var counter = SeededGenerator.mix(seed &+ UInt64(index) &* 0xD1B5_4A32_D192_ED03)
        while words.count < Self.blockByteCount / 8 {
            counter &+= 0x9E37_79B9_7F4A_7C15
            let word = SeededGenerator.mix(counter)
            // Of text half is always the same and the other half has few letters: it shrinks well.
            switch kind {
            case .noise: words.append(word)
            case .text where words.count % 2 == 1: words.append(0x2E65_6761_7373_656D)
            case .text: words.append(word & 0x0F0F_0F0F_0F0F_0F0F | 0x6060_6060_6060_6060)
            }
        }
    }

    /// `<churn: ` as it lies in memory.
    private static let magic: UInt64 = 0x203A_6E72_7568_633C

    /// Eight hexadecimal digits, the highest at the lowest address.
    private static func hexadecimal(_ value: UInt32) -> UInt64 {
        (0..<8).reduce(0) { text, digit in
            let nibble = UInt64(value >> UInt32(28 - 4 * digit)) & 0xF
            return text | (nibble < 10 ? 0x30 + nibble : 0x57 + nibble) << UInt64(8 * digit)
        }
    }

    /// Looks for the first block that begins at or after `start`.
    ///
    /// - Returns: where, and the three numbers that it begins with; nil: there is none.
    static func firstBlock(in bytes: RawSpan, from start: Int) -> (offset: Int, numbers: [Int])? {
        var offset = start
        while offset + 32 <= bytes.byteCount {
            if bytes.word(offset) == magic {
                let text = bytes.extracting(offset + 8..<offset + 32).text()
                let numbers = (0..<3).compactMap {
                    Int(text.dropFirst(8 * $0).prefix(8), radix: 16)
                }
                if numbers.count == 3 { return (offset, numbers) }
            }
            offset += 1
        }
        return nil
    }

    /// Hands on the bytes in pieces of at most 256 KiB.
    func forEachPiece(_ body: ([UInt8]) throws -> Void) rethrows {
        var offset = 0
        var piece: [UInt8] = []
        while offset < byteCount {
            let end = min(offset + 262_144, byteCount)
            piece.removeAll(keepingCapacity: true)
            append(offset..<end, to: &piece)
            try body(piece)
            offset = end
        }
    }

    /// The SHA-256 of all bytes, in bounded memory.
    func digest() -> PayloadDigest {
        var hash = SHA256()
        forEachPiece { hash.update($0) }
        let bytes = hash.digest()
        guard let digest = PayloadDigest(bytes: bytes.span.bytes) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        return digest
    }
}
