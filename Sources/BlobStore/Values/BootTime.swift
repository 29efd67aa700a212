/// A moment of the machine's boot clock, which goes on whatever is done to the wall clock, and
/// which boot it belongs to.
public struct BootTime: Sendable, Hashable {
    /// Which boot; a moment of another one says nothing about this one.
    public var bootID: BootID
    /// Milliseconds since the machine was booted (`CLOCK_BOOTTIME`), suspended or not.
    public var milliseconds: Int64

    /// A moment of a boot.
    public init(bootID: BootID, milliseconds: Int64) {
        self.bootID = bootID
        self.milliseconds = milliseconds
    }
}

/// 16 bytes that are new with each boot (`/proc/sys/kernel/random/boot_id`).
public struct BootID: Sendable, Hashable {
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The boot that cannot be told from others, for machines that do not say.
    public static let unknown = BootID(high: 0, low: 0)

    /// Reads 32 hexadecimal digits, with hyphens between them or not; nil when it is anything else.
    public init?(_ text: String) {
        var words: (UInt64, UInt64) = (0, 0)
        var count = 0
        for character in text.utf8 where character != UInt8(ascii: "-") {
            guard count < 32, let digit = Character(UnicodeScalar(character)).hexDigitValue else {
                return nil
            }
            if count < 16 {
                words.0 = words.0 << 4 | UInt64(digit)
            } else {
                words.1 = words.1 << 4 | UInt64(digit)
            }
            count += 1
        }
        guard count == 32 else { return nil }
        // As bytes they stand in the order in which they are written.
        high = words.0.byteSwapped
        low = words.1.byteSwapped
    }
}
