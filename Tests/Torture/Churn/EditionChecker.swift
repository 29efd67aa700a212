/// Compares the bytes of an edition with what comes, piece by piece, as they come.
struct EditionChecker {
    private let edition: Edition
    /// The position of the next byte in the payload as it was given.
    private(set) var offset: Int
    private var block: [UInt64] = []
    private var blockIndex = -1

    /// Begins at a position of the payload.
    init(_ edition: Edition, from offset: Int) {
        self.edition = edition
        self.offset = offset
    }

    /// Compares the next bytes. Returns where in `piece` the first wrong byte stands; ``offset`` is
    /// then its position in the payload. Nil when all are right.
    mutating func firstDifference(in piece: RawSpan) -> Int? {
        var at = 0
        while at < piece.byteCount {
            guard offset < edition.byteCount else { return at }
            let index = offset / Edition.blockByteCount
            if index != blockIndex {
                edition.makeBlock(index, into: &block)
                blockIndex = index
            }
            let within = offset % Edition.blockByteCount
            let count = min(
                Edition.blockByteCount - within, piece.byteCount - at, edition.byteCount - offset)
            let right = rightCount(piece, at, within: within, count)
            offset += right
            if right < count { return at + right }
            at += count
        }
        return nil
    }

    /// How many of the `count` bytes from `at` on are those of the block from `within` on.
    private func rightCount(_ piece: RawSpan, _ at: Int, within: Int, _ count: Int) -> Int {
        var done = 0
        while done < count {
            let place = within + done
            if place % 8 == 0, count - done >= 8 {
                // Any eight bytes are an integer.
                let word = piece.unsafeLoadUnaligned(fromByteOffset: at + done, as: UInt64.self)
                if UInt64(littleEndian: word) == block[place / 8] {
                    done += 8
                    continue
                }
            }
            let byte = piece.unsafeLoad(fromByteOffset: at + done, as: UInt8.self)
            let right = UInt8(truncatingIfNeeded: block[place / 8] >> UInt64(8 * (place % 8)))
            guard byte == right else { return done }
            done += 1
        }
        return done
    }
}
