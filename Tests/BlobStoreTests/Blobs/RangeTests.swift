import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// How blobs are cut into chunks, and parts of them read.
@Suite struct RangeTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static let size = 3 * StoreLimits.chunkByteCountMax + 1_234

    static let ranges: [Range<Int>] = {
        let chunk = StoreLimits.chunkByteCountMax
        return [
            0..<0, 0..<1, 0..<size, 1..<size, size - 1..<size, size..<size, chunk - 1..<chunk + 1,
            chunk..<2 * chunk, chunk + 1..<3 * chunk, 3 * chunk..<size, 0..<Int.max,
            size - 10..<Int.max, size + 5..<size + 10, -5..<5, Int.min..<Int.max, -10 ..< -5,
        ]
    }()

    @Test(
        "Any range, of bytes stored as given and of compressed ones, is cut to what is there",
        arguments: ["image/jpeg", "text/plain"])
    func ranges(mediaType: String) throws {
        // Few letters, so that it shrinks; not periodic, so that a wrong offset shows.
        var generator = SeededGenerator(seed: 3)
        let bytes = generator.bytes(Self.size).map { 0x61 + $0 % 4 }
        let record = try store.put("a", bytes, mediaType: mediaType)
        #expect(record.parts[0].coding == (mediaType == "text/plain" ? .gzip : .identity))
        for range in Self.ranges {
            let expected = Array(bytes[range.clamped(to: 0..<bytes.count)])
            let byID = try store.ownedPayload(for: "a", asOf: noon, range: range)
            #expect(byID == expected, "\(range)")
            let byDigest = try store.ownedPayload(
                digest: record.parts[0].digest, asOf: noon, range: range)
            #expect(byDigest == expected, "\(range)")
        }
    }

    @Test("Stored bytes are borrowed from any offset to the end of their chunk")
    func storedBytes() throws {
        var generator = SeededGenerator(seed: 4)
        let bytes = generator.bytes(Self.size)
        let blob = try store.put("a", bytes).parts[0].blob
        let chunk = StoreLimits.chunkByteCountMax
        let first = Self.size - 3 * chunk
        for offset in [0, 1, first - 1, first, first + 1, first + chunk, Self.size - 1] {
            let borrowed = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.storedBytes(of: blob, from: offset).array()
            }
            let end = offset < first ? first : first + ((offset - first) / chunk + 1) * chunk
            #expect(borrowed == Array(bytes[offset..<end]), "\(offset)")
        }
    }

    @Test("Pieces follow each other without a gap, and an error in the middle ends them")
    func pieces() throws {
        var generator = SeededGenerator(seed: 5)
        let bytes = generator.bytes(Self.size).map { 0x61 + $0 % 3 }
        for (id, type) in [("plain", "image/jpeg"), ("coded", "text/plain")] {
            try store.put(id, bytes + Array(id.utf8), mediaType: type)
            let joined = try store.withPayload(for: id, asOf: noon) { payload in
                var joined: [UInt8] = []
                try payload.forEachPiece { joined += $0.array() }
                return joined
            }
            #expect(joined == bytes + Array(id.utf8))
            var count = 0
            #expect(throws: Enough.self) {
                _ = try store.withPayload(for: id, asOf: noon) { payload in
                    try payload.forEachPiece { _ in
                        count += 1
                        throw Enough()
                    }
                }
            }
            #expect(count == 1)
        }
    }

    private struct Enough: Error {}

    @Test(
        "What is published is read back, whatever its size",
        arguments: [
            0, 1, 127, 4_095, 4_096, 65_471, 65_472, 65_473, 130_944, 130_945, 300_000, 17 << 20,
        ])
    func roundTrip(byteCount: Int) throws {
        var generator = SeededGenerator(seed: UInt64(byteCount))
        let bytes = generator.bytes(byteCount)
        let record = try store.put("42", bytes, mediaType: "image/jpeg")
        #expect(record.parts[0].byteCount == byteCount)
        #expect(try store.ownedPayload(for: "42", asOf: noon) == bytes)
        #expect(try store.ownedPayload(digest: record.parts[0].digest, asOf: noon) == bytes)
    }

    private static let sizes = [
        1, 2, 4_095, 4_096, 65_471, 65_472, 65_473, 65_516, 130_944, 130_945, 131_072, 1 << 20,
        10_000_019,
    ]

    @Test(
        "Chunks follow each other without a gap, the short one first; a full one fills sixteen pages"
    )
    func cut() {
        for size in Self.sizes {
            var start = 0
            for index in 0..<ChunkLayout.count(of: size) {
                let byteCount = ChunkLayout.byteCount(at: index, of: size)
                #expect(byteCount >= 1 && byteCount <= ChunkLayout.byteCountMax, "\(size)")
                #expect(ChunkLayout.start(of: index, in: size) == start)
                for offset in [0, byteCount / 2, byteCount - 1] {
                    let place = ChunkLayout.position(of: start + offset, in: size)
                    #expect(place.index == index && place.start == offset, "\(size)")
                }
                let prefix = ChunkLayout.prefixByteCount(before: byteCount)
                #expect(ChunkLayout.byteCount(ofValue: prefix + byteCount) == byteCount)
                start += byteCount
            }
            #expect(start == size)
        }
        #expect(ChunkLayout.count(of: 0) == 0)
        #expect(
            (0..<3).map { ChunkLayout.byteCount(at: $0, of: 131_072) } == [128, 65_472, 65_472])
        // Behind LMDB's header, and each begins a cache line.
        let full = ChunkLayout.byteCountMax
        #expect(16 + ChunkLayout.prefixByteCount(before: full) + full == 16 * 4_096)
        #expect((16 + ChunkLayout.prefixByteCount(before: 4_096)) % 64 == 0)
        #expect(ChunkLayout.prefixByteCount(before: 4_095) == 4)
        // Too short for a checksum.
        for count in 0...4 { #expect(ChunkLayout.byteCount(ofValue: count) == 0) }
    }
}
