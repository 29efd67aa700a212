import TestSupport

/// One change of a notification: the `number`th thing that happens to notification `id`. What it is,
/// and every byte of what it stores, follows from the seed, so that nobody has to keep it.
///
/// The bytes say themselves whose they are: each block of ``blockByteCount`` begins with 32
/// characters such as `<churn: 0000000c0000001f000001a0`, the id, the edition and the block in
/// hexadecimal; the rest is made from the same three numbers. So bytes that come from elsewhere are
/// seen wherever they begin, and mostly it can be said where they come from.
struct Edition: Sendable, Hashable {
    /// The size of a block, in bytes.
    static let blockByteCount = 512
    /// The same in words.
    static let blockWordCount = 64

    let seed: UInt64
    let id: Int
    /// Counts from 1 for each id. Deletions are editions too.
    let number: Int

    /// The notification's name.
    var name: String { Self.name(of: id) }

    /// The name of the notification with this id.
    static func name(of id: Int) -> String { "c\(id)" }

    // MARK: What the change is

    /// Whether the notification is deleted by it. The first edition never is one.
    var isDeletion: Bool { number > 1 && choice(1) % 100 < 12 }

    /// For how long it is published, in seconds.
    var lifetimeSeconds: Int64 { isShortLived ? Int64(1 + choice(2) / 100 % 2) : 86_400 }

    private var isShortLived: Bool { number > 1 && choice(2) % 100 < 8 }

    /// Whether the notification may be absent while this is its latest edition.
    var mayBeAbsent: Bool { isDeletion || isShortLived }

    /// Whether it is text, which the daemon stores as a gzip stream; the others are noise.
    var isText: Bool { choice(3) % 100 < 12 }

    /// How many bytes it has: about the same for all editions of an id, never exactly.
    var byteCount: Int {
        let typical = Self.typicalByteCount(of: id, seed: seed)
        return typical * Int(80 + choice(4) % 41) / 100
    }

    /// The fewest bytes an edition of this id can have.
    static func byteCountMin(of id: Int, seed: UInt64) -> Int {
        typicalByteCount(of: id, seed: seed) * 80 / 100
    }

    /// The most bytes an edition of this id can have.
    static func byteCountMax(of id: Int, seed: UInt64) -> Int {
        typicalByteCount(of: id, seed: seed) * 120 / 100
    }

    /// Half of all notifications are so large that their pages are sent zero-copy, and
    /// so small that the whole answer fits into it.
    private static func typicalByteCount(of id: Int, seed: UInt64) -> Int {
        let share = Int(SeededGenerator.mix(seed &+ UInt64(id)) % 1_000)
        func between(_ lower: Int, _ upper: Int) -> Int { lower + (upper - lower) * share / 1_000 }
        return switch id % 16 {
        case 0, 1: between(1_280, 16 << 10)
        case 2, 3: between(16 << 10, 64 << 10)
        case 4...11: between(64 << 10, 150 << 10)
        case 12...14: between(150 << 10, 850 << 10)
        default: id % 64 == 15 ? 4 << 20 : between(400 << 10, 850 << 10)
        }
    }

    /// The media type, which carries the edition's number back to the readers.
    var mediaType: String {
        "\(isText ? "text/plain" : "image/jpeg"); edition=\(number)"
    }

    /// The number that such a media type carries, or nil.
    static func number(inMediaType text: some StringProtocol) -> Int? {
        guard let sign = text.lastIndex(of: "="), text.contains("; edition=") else { return nil }
        return Int(text[text.index(after: sign)...])
    }

    private func choice(_ which: UInt64) -> UInt64 {
        SeededGenerator.mix(base &+ which &* 0x9E37_79B9_7F4A_7C15)
    }

    private var base: UInt64 {
        SeededGenerator.mix(seed ^ (UInt64(id) << 40 | UInt64(number)))
    }

    // MARK: Its bytes

    /// All bytes, and up to seven more: the payload is the first ``byteCount`` of them.
    func words() -> [UInt64] {
        var all: [UInt64] = []
        let wordCount = (byteCount + 7) / 8
        all.reserveCapacity(wordCount + Self.blockWordCount)
        var block: [UInt64] = []
        var index = 0
        while all.count < wordCount {
            makeBlock(index, into: &block)
            all += block
            index += 1
        }
        return all
    }

    /// Replaces `words` by those of a block.
    func makeBlock(_ index: Int, into words: inout [UInt64]) {
        words.removeAll(keepingCapacity: true)
        words.append(Self.magic)
        words.append(Self.hexadecimal(UInt32(truncatingIfNeeded: id)))
        words.append(Self.hexadecimal(UInt32(truncatingIfNeeded: number)))
        words.append(Self.hexadecimal(UInt32(truncatingIfNeeded: index)))
        let start = SeededGenerator.mix(base &+ UInt64(index) &* 0xD1B5_4A32_D192_ED03)
        var counter = start
        let isText = isText
        while words.count < Self.blockWordCount {
            counter &+= 0x9E37_79B9_7F4A_7C15
            let word = SeededGenerator.mix(counter)
            // Of text half is always the same and the other half has few letters: it shrinks well.
            let isFixed = isText && words.count % 2 == 1
            words.append(
                isFixed
                    ? 0x2E65_6761_7373_656D
                    : isText ? (word & 0x0F0F_0F0F_0F0F_0F0F) | 0x6060_6060_6060_6060 : word)
        }
    }

    /// `<churn: ` as it lies in memory.
    private static let magic: UInt64 = 0x203A_6E72_7568_633C

    /// Eight hexadecimal digits, the highest at the lowest address.
    private static func hexadecimal(_ value: UInt32) -> UInt64 {
        var text: UInt64 = 0
        for digit in 0..<8 {
            let nibble = UInt64(value >> UInt32(28 - 4 * digit)) & 0xF
            text |= (nibble < 10 ? 0x30 + nibble : 0x57 + nibble) << UInt64(8 * digit)
        }
        return text
    }

    /// Looks for the first block that begins at or behind `start` and says whose it is, or nil when
    /// no block begins in `bytes`.
    static func description(ofBlockIn bytes: RawSpan, from start: Int) -> String? {
        var offset = start
        while offset + 32 <= bytes.byteCount {
            // Any eight bytes are an integer.
            if bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self) == magic,
                let id = number(bytes, offset + 8), let edition = number(bytes, offset + 16),
                let block = number(bytes, offset + 24)
            {
                return "\(offset - start) bytes on stands block \(block) of edition \(edition) of "
                    + name(of: id)
            }
            offset += 1
        }
        return nil
    }

    private static func number(_ bytes: RawSpan, _ offset: Int) -> Int? {
        var text = ""
        for place in offset..<(offset + 8) {
            // Any byte is an integer.
            let byte = bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self)
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return Int(text, radix: 16)
    }
}
