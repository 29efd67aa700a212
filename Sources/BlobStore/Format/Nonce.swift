internal import Bytes

/// 16 random bytes that tell one run of a leader, or one log, from every other.
package struct Nonce: Sendable, Hashable, BitwiseCopyable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    /// One that was never used.
    package static func random() -> Nonce {
        Nonce(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
    }

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package var description: String {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
        var text: [UInt8] = []
        Hex.append(bytes.span.bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
