internal import Bytes

/// Which store it is: 16 random bytes, made when it is created.
public struct StoreID: Sendable, Hashable, BitwiseCopyable, CustomStringConvertible {
    let high: UInt64
    let low: UInt64

    /// The 16 bytes that ``append(to:)`` appended.
    package init(bytes: RawSpan) { self = bytes.words(0) }

    /// Reads 32 hexadecimal digits; nil for anything else.
    package init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 32, by: 2) {
            guard let high = Hex.lowercaseValue(digits[index]),
                let low = Hex.lowercaseValue(digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(bytes: bytes.span.bytes)
    }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    static func random() -> StoreID {
        StoreID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
    }

    /// Appends the 16 bytes.
    public func append(to bytes: inout [UInt8]) {
        bytes.append(words: self)
    }

    /// 32 hexadecimal digits.
    public var description: String {
        var (bytes, text): ([UInt8], [UInt8]) = ([], [])
        append(to: &bytes)
        Hex.append(bytes.span.bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
