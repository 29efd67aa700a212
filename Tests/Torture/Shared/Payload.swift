import BlobClient
import Hashing
import TestSupport

/// Bytes that a seed makes, the same every time and at every offset, so that nobody has to keep
/// them.
struct Payload: Sendable, Hashable {
    /// What the bytes look like.
    enum Kind: Sendable, Hashable { case noise, text }

    let seed: UInt64
    let byteCount: Int
    let kind: Kind

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

    /// Appends the bytes of a range, whose lower bound is a multiple of 16.
    func append(_ range: Range<Int>, to bytes: inout [UInt8]) {
        precondition(range.lowerBound % 16 == 0)
        bytes.reserveCapacity(bytes.count + range.count)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let block = block(UInt64(offset / 16))
            let count = min(16, range.upperBound - offset)
            withUnsafeBytes(of: block) { bytes.append(contentsOf: $0.prefix(count)) }
            offset += count
        }
    }

    private func block(_ index: UInt64) -> (UInt64, UInt64) {
        let first = SeededGenerator.mix(seed &+ (index &* 2 + 1) &* 0x9E37_79B9_7F4A_7C15)
        switch kind {
        case .noise:
            return (first, SeededGenerator.mix(first &+ 0x9E37_79B9_7F4A_7C15))
        case .text:
            // Sixteen letters of which eight are always the same: about half is left of it.
            let letters = (first & 0x0F0F_0F0F_0F0F_0F0F) | 0x6060_6060_6060_6060
            return (letters, 0x2E65_6761_7373_656D)
        }
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
