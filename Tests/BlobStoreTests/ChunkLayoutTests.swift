import Testing

@testable import BlobStore

/// How blobs are cut: every byte is in one chunk, at one place, and long chunks fill their pages.
@Suite struct ChunkLayoutTests {
    private static let sizes = [
        1, 2, 4_095, 4_096, 65_471, 65_472, 65_473, 65_515, 65_516, 65_517, 130_944, 130_945,
        131_032, 131_033, 131_072, 1 << 20, 10_000_019,
    ]

    @Test(
        "Chunks follow each other without a gap, in both layouts",
        arguments: [ChunkLayout.shortLast, .shortFirst])
    func cut(_ layout: ChunkLayout) {
        for size in Self.sizes {
            var start = 0
            for index in 0..<layout.count(of: size) {
                let byteCount = layout.byteCount(at: index, of: size)
                #expect(byteCount >= 1 && byteCount <= layout.byteCountMax, "\(size)")
                #expect(layout.start(of: index, in: size) == start)
                for offset in [0, byteCount / 2, byteCount - 1] {
                    let place = layout.place(of: start + offset, in: size)
                    #expect(place.index == index && place.start == offset, "\(size)")
                }
                let prefix = layout.prefixByteCount(before: byteCount)
                #expect(layout.byteCount(ofValue: prefix + byteCount) == byteCount)
                start += byteCount
            }
            #expect(start == size)
        }
        #expect(layout.count(of: 0) == 0)
    }

    @Test("The short chunk is the last in the old layout and the first in the new one")
    func short() {
        let old = ChunkLayout.shortLast
        #expect((0..<3).map { old.byteCount(at: $0, of: 131_072) } == [65_516, 65_516, 40])
        let new = ChunkLayout.shortFirst
        #expect((0..<3).map { new.byteCount(at: $0, of: 131_072) } == [128, 65_472, 65_472])
    }

    @Test("A full chunk fills sixteen pages behind LMDB's header, and begins a line in the new one")
    func pages() {
        for layout in [ChunkLayout.shortLast, .shortFirst] {
            let full = layout.byteCountMax
            #expect(16 + layout.prefixByteCount(before: full) + full == 16 * 4_096)
        }
        #expect((16 + ChunkLayout.shortFirst.prefixByteCount(before: 4_096)) % 64 == 0)
        #expect(ChunkLayout.shortFirst.prefixByteCount(before: 4_095) == 4)
    }

    @Test("A value that is too short for a checksum has no bytes")
    func tooShort() {
        for layout in [ChunkLayout.shortLast, .shortFirst] {
            for count in 0...4 { #expect(layout.byteCount(ofValue: count) == 0) }
        }
    }

    @Test("The number says which layout a blob has")
    func numbers() {
        #expect(ChunkLayout(ofBlob: 0) == .shortLast)
        #expect(ChunkLayout(ofBlob: 0x00ff_ffff_ffff_ffff) == .shortLast)
        #expect(ChunkLayout(ofBlob: 0x0100_0000_0000_0000) == .shortFirst)
    }
}
