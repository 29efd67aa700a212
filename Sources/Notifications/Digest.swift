internal import Bytes

/// The name of a blob: the SHA-256 of its payload's bytes as given.
public struct Digest: Sendable, Hashable, CustomStringConvertible {
    // Words, so that the read path compares and copies digests without allocation.
    @usableFromInline let words: (UInt64, UInt64, UInt64, UInt64)

    /// The size of a digest, in bytes.
    public static let byteCount = 32

    /// Reads 32 raw bytes; nil for any other number.
    public init?(bytes: RawSpan) {
        guard bytes.byteCount == Self.byteCount else { return nil }
        self.init(bytes, at: 0)
    }

    /// Reads 32 raw bytes at `offset`. The caller has checked that they exist.
    @inlinable
    @inline(__always)
    package init(_ bytes: RawSpan, at offset: Int) {
        // Every bit pattern is a valid integer.
        func word(_ index: Int) -> UInt64 {
            UInt64(
                bigEndian: bytes.unsafeLoadUnaligned(
                    fromByteOffset: offset &+ 8 &* index, as: UInt64.self))
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// Takes the result of SHA-256.
    package init(_ hash: InlineArray<32, UInt8>) { self.init(hash.span.bytes, at: 0) }

    /// Reads 64 lower-case hexadecimal digits; nil for anything else.
    public init?(hex: RawSpan) { self.init(hex, Hex.lowercaseValue) }

    /// Reads 64 hexadecimal digits of either case; nil for anything else.
    package init?(hexOfEitherCase hex: RawSpan) { self.init(hex, Hex.value) }

    @inline(__always)
    private init?(_ hex: RawSpan, _ value: (UInt8) -> UInt8?) {
        guard hex.byteCount == 2 * Self.byteCount else { return nil }
        var bytes = InlineArray<32, UInt8>(repeating: 0)
        for index in 0..<Self.byteCount {
            guard let high = value(hex.byte(2 * index)), let low = value(hex.byte(2 * index + 1))
            else { return nil }
            bytes[index] = high << 4 | low
        }
        self.init(bytes)
    }

    /// Reads `sha256:` and 64 lower-case hexadecimal digits; nil for anything else.
    public init?(_ text: some StringProtocol) {
        guard text.hasPrefix("sha256:") else { return nil }
        let hex = Array(text.utf8.dropFirst(7))
        self.init(hex: hex.span.bytes)
    }

    /// The 32 raw bytes, as words in the order of their bytes: a key, without allocation.
    @inlinable
    package var rawWords: InlineArray<4, UInt64> {
        [words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian]
    }

    /// The 32 raw bytes.
    @inlinable
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

    /// Appends 64 lower-case hexadecimal digits, without a string.
    public func appendHex(to bytes: inout [UInt8]) {
        Hex.append(rawWords.span.bytes, to: &bytes)
    }

    /// Appends `sha256:` and 64 lower-case hexadecimal digits.
    package func appendText(to bytes: inout [UInt8]) {
        bytes.append("sha256:")
        appendHex(to: &bytes)
    }

    /// `sha256:` and 64 lower-case hexadecimal digits.
    public var description: String {
        var bytes: [UInt8] = []
        appendText(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether all 32 bytes are equal.
    @inlinable
    public static func == (left: Digest, right: Digest) -> Bool {
        left.words == right.words
    }

    /// Feeds the first 8 bytes to `hasher`.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        // A digest is uniformly distributed, so one word distinguishes blobs.
        hasher.combine(words.0)
    }
}
