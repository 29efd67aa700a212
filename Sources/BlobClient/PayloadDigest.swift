import Hashing

/// The SHA-256 of a payload's bytes as they were given: the name of a blob. 32 bytes, held inline.
public struct PayloadDigest: Sendable, Hashable, CustomStringConvertible {
    /// The size in bytes.
    public static let byteCount = 32

    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// The digest with these 32 bytes, or nil when there are not 32.
    public init?(bytes: RawSpan) {
        guard bytes.byteCount == Self.byteCount else { return nil }
        self.init(all: bytes)
    }

    /// The digest written as `sha256:` and 64 lower-case hexadecimal digits, or nil for anything
    /// else.
    public init?(_ text: some StringProtocol) {
        let prefix = "sha256:"
        guard text.hasPrefix(prefix) else { return nil }
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text.utf8.dropFirst(prefix.utf8.count) {
            let value: UInt8
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = character - UInt8(ascii: "a") + 10
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        guard high == nil else { return nil }
        self.init(bytes: bytes.span.bytes)
    }

    /// The digest of these bytes. Reads each of them once.
    public init(of bytes: RawSpan) {
        self.init(SHA256.digest(of: bytes))
    }

    init(_ digest: InlineArray<32, UInt8>) {
        self.init(all: digest.span.bytes)
    }

    /// Reads 32 bytes, which the caller has counted.
    private init(all bytes: RawSpan) {
        func word(_ index: Int) -> UInt64 {
            // Every bit pattern is an integer, and all four are there.
            UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in
            stride(from: 56, through: 0, by: -8).map {
                UInt8(truncatingIfNeeded: word >> UInt64($0))
            }
        }
    }

    /// `sha256:` and 64 hexadecimal digits.
    public var description: String {
        let digits = Array("0123456789abcdef".utf8)
        var text = Array("sha256:".utf8)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether two digests are of the same bytes.
    public static func == (a: PayloadDigest, b: PayloadDigest) -> Bool {
        a.words == b.words
    }

    /// Feeds all 32 bytes to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}

/// A digest in the making, for bytes that come in pieces.
struct PayloadHash {
    private var hash = SHA256()

    mutating func update(_ bytes: RawSpan) {
        hash.update(bytes)
    }

    func finish() -> PayloadDigest {
        PayloadDigest(hash.digest())
    }
}
