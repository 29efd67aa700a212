/// What a blob is known by: the SHA-256 of its bytes as given, written `sha256:<hex>` as OCI
/// registries do.
public struct Digest: Sendable, Hashable, CustomStringConvertible {
    // Four words rather than an array: a digest is compared and copied on the read path, without
    // allocation.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// How many bytes a digest has.
    public static let byteCount = 32

    /// Reads 32 raw bytes; nil when there are more or fewer.
    public init?(bytes: RawSpan) {
        guard bytes.byteCount == Self.byteCount else { return nil }
        self.init(bytes, at: 0)
    }

    /// Reads 32 raw bytes at `offset`, which the caller has checked to be there.
    @inline(__always)
    init(_ bytes: RawSpan, at offset: Int) {
        words = (
            UInt64(bigEndian: bytes.word(at: offset)),
            UInt64(bigEndian: bytes.word(at: offset + 8)),
            UInt64(bigEndian: bytes.word(at: offset + 16)),
            UInt64(bigEndian: bytes.word(at: offset + 24))
        )
    }

    /// Reads 64 lower-case hexadecimal digits; nil for anything else.
    public init?(hex: RawSpan) {
        guard hex.byteCount == 2 * Self.byteCount else { return nil }
        var words: [UInt64] = [0, 0, 0, 0]
        for index in 0..<64 {
            let digit: UInt64
            switch hex.byte(at: index) {
            case let byte where byte >= 0x30 && byte <= 0x39: digit = UInt64(byte) - 0x30
            case let byte where byte >= 0x61 && byte <= 0x66: digit = UInt64(byte) - 0x61 + 10
            default: return nil
            }
            words[index / 16] = words[index / 16] << 4 | digit
        }
        self.words = (words[0], words[1], words[2], words[3])
    }

    /// Reads `sha256:` and 64 lower-case hexadecimal digits; nil for anything else.
    public init?(_ text: some StringProtocol) {
        guard text.hasPrefix("sha256:") else { return nil }
        let hex = Array(text.utf8.dropFirst(7))
        guard let digest = Digest(hex: hex.span.bytes) else { return nil }
        self = digest
    }

    /// The 32 raw bytes, as words in the order of their bytes: a key, without allocation.
    var rawWords: InlineArray<4, UInt64> {
        [words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian]
    }

    /// The 32 raw bytes.
    public var rawBytes: InlineArray<32, UInt8> {
        var bytes = InlineArray<32, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        raw.storeBytes(of: words.0.bigEndian, toByteOffset: 0, as: UInt64.self)
        raw.storeBytes(of: words.1.bigEndian, toByteOffset: 8, as: UInt64.self)
        raw.storeBytes(of: words.2.bigEndian, toByteOffset: 16, as: UInt64.self)
        raw.storeBytes(of: words.3.bigEndian, toByteOffset: 24, as: UInt64.self)
        return bytes
    }

    /// Appends the 32 raw bytes.
    public func append(to bytes: inout [UInt8]) {
        rawWords.span.bytes.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    /// Appends 64 lower-case hexadecimal digits, without making a string.
    public func appendHex(to bytes: inout [UInt8]) {
        var digits = InlineArray<64, UInt8>(repeating: 0)
        var span = digits.mutableSpan
        var raw = span.mutableBytes
        let all: InlineArray<4, UInt64> = [words.0, words.1, words.2, words.3]
        for index in 0..<4 {
            let word = all[index]
            raw.storeBytes(
                of: Self.hex(UInt32(truncatingIfNeeded: word >> 32)).bigEndian,
                toByteOffset: 16 * index, as: UInt64.self)
            raw.storeBytes(
                of: Self.hex(UInt32(truncatingIfNeeded: word)).bigEndian,
                toByteOffset: 16 * index + 8, as: UInt64.self)
        }
        digits.span.bytes.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    /// The eight hexadecimal digits of a number, in one word, all at once.
    private static func hex(_ value: UInt32) -> UInt64 {
        // Four bits to a byte: halves are moved apart three times.
        var nibbles = UInt64(value)
        nibbles = (nibbles | nibbles << 16) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // A nibble over 9 reaches the fifth bit when 6 is added: those are letters.
        let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }

    /// `sha256:` and 64 hexadecimal digits.
    public var description: String {
        var bytes = Array("sha256:".utf8)
        appendHex(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// True when all 32 bytes are the same.
    public static func == (left: Digest, right: Digest) -> Bool {
        left.words == right.words
    }

    /// Feeds the first 8 bytes to `hasher`.
    public func hash(into hasher: inout Hasher) {
        // A digest is evenly spread already; one word tells blobs apart.
        hasher.combine(words.0)
    }
}
