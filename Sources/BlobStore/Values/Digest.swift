internal import Bytes

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
            UInt64(bigEndian: bytes.word(offset)),
            UInt64(bigEndian: bytes.word(offset + 8)),
            UInt64(bigEndian: bytes.word(offset + 16)),
            UInt64(bigEndian: bytes.word(offset + 24))
        )
    }

    /// Reads 64 lower-case hexadecimal digits; nil for anything else.
    public init?(hex: RawSpan) {
        guard hex.byteCount == 2 * Self.byteCount else { return nil }
        var bytes = InlineArray<32, UInt8>(repeating: 0)
        for index in 0..<Self.byteCount {
            let digits = (hex.byte(2 * index), hex.byte(2 * index + 1))
            guard let high = Hex.lowercaseValue(digits.0), let low = Hex.lowercaseValue(digits.1)
            else { return nil }
            bytes[index] = high << 4 | low
        }
        self.init(bytes.span.bytes, at: 0)
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
        bytes.append(contentsOf: rawWords.span.bytes)
    }

    /// Appends 64 lower-case hexadecimal digits, without making a string.
    public func appendHex(to bytes: inout [UInt8]) {
        Hex.append(rawWords.span.bytes, to: &bytes)
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
