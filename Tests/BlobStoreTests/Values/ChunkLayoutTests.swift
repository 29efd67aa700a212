import Testing

@testable import BlobStore

/// How blobs are cut: every byte is in one chunk, at one place, and long chunks fill their pages.
@Suite struct ChunkLayoutTests {
    private static let sizes = [
        1, 2, 4_095, 4_096, 65_471, 65_472, 65_473, 65_516, 130_944, 130_945, 131_072, 1 << 20,
        10_000_019,
    ]

    @Test("Chunks follow each other without a gap")
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
    }

    @Test("The short chunk is the first")
    func short() {
        #expect(
            (0..<3).map { ChunkLayout.byteCount(at: $0, of: 131_072) } == [128, 65_472, 65_472])
    }

    @Test("A full chunk fills sixteen pages behind LMDB's header, and begins a cache line")
    func pages() {
        let full = ChunkLayout.byteCountMax
        #expect(16 + ChunkLayout.prefixByteCount(before: full) + full == 16 * 4_096)
        #expect((16 + ChunkLayout.prefixByteCount(before: 4_096)) % 64 == 0)
        #expect(ChunkLayout.prefixByteCount(before: 4_095) == 4)
    }

    @Test("A value that is too short for a checksum has no bytes")
    func tooShort() {
        for count in 0...4 { #expect(ChunkLayout.byteCount(ofValue: count) == 0) }
    }
}
