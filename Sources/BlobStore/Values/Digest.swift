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

    /// Appends the 32 raw bytes.
    public func append(to bytes: inout [UInt8]) {
        bytes.appendBigEndian(words.0)
        bytes.appendBigEndian(words.1)
        bytes.appendBigEndian(words.2)
        bytes.appendBigEndian(words.3)
    }

    /// Appends 64 lower-case hexadecimal digits, without making a string.
    public func appendHex(to bytes: inout [UInt8]) {
        Self.appendHex(words.0, to: &bytes)
        Self.appendHex(words.1, to: &bytes)
        Self.appendHex(words.2, to: &bytes)
        Self.appendHex(words.3, to: &bytes)
    }

    private static func appendHex(_ word: UInt64, to bytes: inout [UInt8]) {
        var shift: UInt64 = 64
        while shift > 0 {
            shift -= 4
            let digit = UInt8(truncatingIfNeeded: word >> shift) & 0xF
            bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
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
