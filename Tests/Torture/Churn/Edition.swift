import TestSupport

/// One change of a notification: the `number`th thing that happens to notification `id`. What it is,
/// and every byte of what it stores, follows from the seed, so that nobody has to keep it.
struct Edition: Sendable, Hashable {
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

    /// What it stores, whose blocks say id and number.
    var payload: Payload {
        Payload(
            seed: base, byteCount: byteCount, kind: isText ? .text : .noise,
            name: UInt64(id) << 32 | UInt64(number))
    }

    /// Says whose block is the first that begins at or after `start`; nil: none begins in `bytes`.
    static func description(ofBlockIn bytes: RawSpan, from start: Int) -> String? {
        Payload.firstBlock(in: bytes, from: start).map { offset, numbers in
            "\(offset - start) bytes on stands block \(numbers[2]) of edition \(numbers[1]) of \(name(of: numbers[0]))"
        }
    }
}
